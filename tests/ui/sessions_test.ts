import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import { changeAddress, expectAccessible, type TestPage } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { downloaded } from "./_downloads.ts";
import { cases } from "../harness/thorough.ts";

/** The sessions in the dashboard, and the replay of one by the keyboard. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>\u0007 17 * 23";
/** The events of a long log: 100,000 in a thorough run of a factor of four. */
const LONG = cases(10_000);

/** A model that never answers. */
const silent = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  () => new Promise<Response>(() => {}),
);
silent.unref();

async function open({ browser, url }: TestDashboard, path: string): Promise<TestPage> {
  const opened = await browser.open(`${url}/ui/sessions${path}`);
  await opened.page.locator("main .card").first().waitFor();
  return opened;
}

/** Returns the selected row: its seq and its type. */
async function selected({ page }: TestPage): Promise<string> {
  const row = page.locator('.step[aria-selected="true"]');
  return `${await row.locator(".step-seq").textContent()} ${await row.locator(".step-type").textContent()}`;
}

const list = ({ page }: TestPage) => page.getByRole("listbox", { name: "Steps" });

/** Waits until a row is selected. */
async function expectSelected(opened: TestPage, seq: string, type: string): Promise<void> {
  await opened.page.locator('.step[aria-selected="true"]', { hasText: seq }).getByText(type).waitFor();
  assert.equal(await selected(opened), `${seq} ${type}`);
}

/** Returns a figure of the details of a step. */
function detail({ page }: TestPage, name: string): Promise<string | null> {
  return page.locator(".figures div", { has: page.getByText(name, { exact: true }) }).locator("dd")
    .textContent();
}

testDashboard("the sessions in the dashboard", {
  clock: systemClock,
  config: {
    providers: { slow: { baseUrl: `http://127.0.0.1:${silent.addr.port}/v1` } },
  },
}, {
  async "runs are made, and one log is long"({ purser }) {
    await purser.api("PUT", "/agents/helper", { model: "demo:echo", tools: ["calculator"] });
    await purser.api("PUT", "/agents/looper", {
      model: "demo:loop",
      tools: ["calculator"],
      cost_budget_usd: 0.0003,
    });
    for (const input of ["What is 17 * 23?", HOSTILE]) {
      const { status } = await purser.api("POST", "/agents/helper/runs", { input, session_id: "first" });
      assert.equal(status, 200);
    }
    await purser.api("POST", "/agents/looper/runs", { input: "Calculate", session_id: "second" });
    await purser.api("POST", "/agents/helper/runs", { input: "Hi", session_id: "timed" });
    // A call of 4 s, a tool of 1 s and another call of 5 s, one after the other.
    const timed = [
      ["model.called", 0, 4_000],
      ["tool.called", 4_000, null],
      ["tool.returned", 5_000, 1_000],
      ["model.called", 5_000, 5_000],
      ["run.completed", 10_000, null],
    ] as const;
    await purser.core.store.write([
      ...timed.map(([type, at, ms], index) => ({
        sql: `INSERT INTO events (event_id, session_id, seq, run_id, agent_id, type, at, call_id, payload)
          SELECT 900000 + ?1, session_id, ?1 + (SELECT event_count FROM sessions WHERE session_id = 'timed'),
            'run_timed', agent_id, ?2, at + ?3, NULL, json_object('duration_ms', ?4)
          FROM events WHERE session_id = 'timed' AND seq = 1`,
        args: [index + 1, type, at, ms],
      })),
      { sql: `UPDATE sessions SET event_count = event_count + ${timed.length} WHERE session_id = 'timed'` },
    ]);
    await purser.api("POST", "/agents/helper/runs", { input: "Long", session_id: "long" });
    await purser.api("POST", "/costs/events", [{
      call_id: "reported-1",
      at: new Date().toISOString(),
      agent_id: "elsewhere",
      session_id: "reported",
      provider: "acme",
      model: HOSTILE.slice(0, 20),
      input_tokens: 10,
      output_tokens: 2,
      cost_usd: 0.7512345,
    }]);
    // A long log, as many calls of a tool would make it.
    await purser.core.store.write([
      {
        sql: `INSERT INTO events (event_id, session_id, seq, run_id, agent_id, type, at, call_id, payload)
          WITH RECURSIVE n(seq) AS (SELECT (SELECT event_count FROM sessions WHERE session_id = 'long') + 1
            UNION ALL SELECT seq + 1 FROM n WHERE seq < ${LONG})
          SELECT 1000000 + seq, 'long', seq, 'run_long', 'helper', 'tool.called', 1795000000000 + seq, NULL,
            '{"tool_call_id":"t","tool_name":"calculator","input":{"expression":"' || seq || '"}}' FROM n`,
      },
      { sql: `UPDATE sessions SET event_count = ${LONG} WHERE session_id = 'long'` },
    ]);
  },

  async "the list has cost and status, and links to a session"(dashboard) {
    await using opened = await open(dashboard, "");
    const { page } = opened;
    const { body } = await dashboard.purser.api("GET", "/sessions");
    const row = page.locator("tr", { has: page.getByRole("link", { name: "second" }) });
    await row.getByText("budget exceeded").waitFor();
    const cost = body.find((session: { session_id: string }) => session.session_id === "second");
    assert.equal(await row.locator("data").getAttribute("value"), String(cost.token_usage.cost_usd));
    await page.getByLabel("Status").selectOption("budget_exceeded");
    await page.getByText("1 session", { exact: true }).waitFor();
    await page.getByLabel("Status").selectOption("interrupted");
    await page.getByText("No session matches").waitFor();
    assert.equal(await page.getByRole("table").count(), 0);
    await page.getByRole("link", { name: "Dearest" }).click();
    await page.getByRole("region", { name: "Sessions by cost" }).waitFor();
    assert.equal(await page.locator("tbody tr td").first().textContent(), "reported");
    await page.getByRole("link", { name: "Session", exact: true }).click();
    assert.equal(await page.locator("tbody tr td").first().textContent(), "first");
    await page.getByLabel("Agent").selectOption("looper");
    await page.getByRole("link", { name: "second" }).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 1);
    await page.getByRole("link", { name: "second" }).click();
    await page.getByRole("heading", { name: "Session second" }).waitFor();
  },

  async "sessions are searched by id, agent, model and tag, and the search is in the address"(dashboard) {
    const call = (index: number, model: string, agent_id = "searcher") => ({
      call_id: `mixed-${index}`,
      at: new Date().toISOString(),
      agent_id,
      session_id: "mixed",
      provider: "acme",
      model,
      input_tokens: 1_234_567,
      output_tokens: 123_456,
      cache_read_tokens: 1_000_000,
      reasoning_tokens: 100_000,
      cost_usd: 12.345678,
      estimated: index === 0,
      tools: index === 0 ? ["read_diff", "search_web"] : [],
      tags: { customer: "globex" },
    });
    const { status } = await dashboard.purser.api("POST", "/costs/events", [
      call(0, "a-model-of-a-name-that-is-as-long-as-those-of-some-gateways-20260101"),
      call(1, "small", "writer"),
      call(2, "small"),
      call(3, "medium"),
    ]);
    assert.equal(status, 201);
    await using opened = await open(dashboard, "");
    const { page } = opened;
    const search = page.getByLabel("Search sessions");
    for (const text of ["globex", "customer:GLOBEX", "acme:medium writer", "mixed"]) {
      await search.fill(text);
      await page.waitForURL((url) => url.searchParams.get("search") === text);
      await page.getByText("1 session", { exact: true }).waitFor();
      await page.getByRole("link", { name: "mixed" }).waitFor();
    }
    await search.fill("globex ");
    await page.waitForURL((url) => url.searchParams.get("search") === "globex");
    assert.equal(await search.inputValue(), "globex ");
    await search.pressSequentially("nobody");
    await page.getByText("No session matches").waitFor();
    await search.fill("");
    await page.getByRole("link", { name: "second" }).waitFor();
    assert.equal(new URL(page.url()).search, "");
    await changeAddress(page, "/ui/sessions?search=globex&status=failed");
    await page.getByText("No session matches").waitFor();
    assert.deepEqual([await search.inputValue(), await page.getByLabel("Status").inputValue()], [
      "globex",
      "failed",
    ]);
  },

  async "a session of several models says how many, and its calls are a table from 1,024 pixels on"(
    dashboard,
  ) {
    await using opened = await open(dashboard, "/mixed");
    const { page } = opened;
    await page.getByText("3 models").click();
    await page.getByText("acme:medium").first().waitFor();
    const calls = page.getByRole("region", { name: "Calls of the session" });
    await calls.waitFor();
    const isStacked = () => calls.evaluate((box) => box.classList.contains("stacked"));
    for (const width of [1024, 1100, 1279, 1280, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal(await isStacked(), false, `${width} pixels`);
      const cut = await calls.evaluate((box) => box.scrollWidth - box.clientWidth);
      assert.equal(cut, 0, `${width} pixels`);
    }
    await page.setViewportSize({ width: 640, height: 800 });
    await page.waitForFunction(() => document.querySelector(".table-scroll.stacked") !== null);
    await page.setViewportSize({ width: 1280, height: 800 });
    const rows = await calls.locator("tbody tr").allTextContents();
    assert.match(rows[0]!, /calls read_diff, search_web1,234,567.*estimated/);
    assert.ok(rows.some((row) => row.includes("acme:smallagent writer")));
    await expectAccessible(page);
  },

  async "a call says what its cost leaves out, and which stated cost is not booked"(dashboard) {
    const call = { provider: "openai", model: "gpt-4o-mini", session_id: "marked", agent_id: "helper" };
    const usage = { input_tokens: 1_000, output_tokens: 1_000 };
    const at = new Date().toISOString();
    const { status } = await dashboard.purser.api("POST", "/costs/events", [
      { ...call, ...usage, at, call_id: "marked-1", output_audio_tokens: 500 },
      { ...call, ...usage, at, call_id: "marked-2", cost_usd: 0 },
    ]);
    assert.equal(status, 201);
    const { body: { calls } } = await dashboard.purser.api("GET", "/sessions/marked/costs");
    assert.deepEqual([calls[0].unpriced_parts, calls[1].stated_cost_usd], [["output_audio_tokens"], 0]);
    await using opened = await open(dashboard, "/marked");
    const rows = opened.page.getByRole("region", { name: "Calls of the session" }).locator("tbody tr");
    await rows.first().getByText("partly priced without output_audio_tokens").waitFor();
    await rows.nth(1).getByText("not $0 as stated: 0 beside tokens is no bill").waitFor();
    assert.equal(await rows.nth(1).locator("data").first().getAttribute("value"), String(calls[1].cost_usd));
  },

  async "a session is replayed by the keyboard, with cost and tokens of each step"(dashboard) {
    await using opened = await open(dashboard, "/first");
    const { page } = opened;
    const { body: session } = await dashboard.purser.api("GET", "/sessions/first");
    const { body: costs } = await dashboard.purser.api("GET", "/sessions/first/costs");
    assert.equal(
      await page.locator(".stat-value data").first().getAttribute("value"),
      String(session.token_usage.cost_usd),
    );
    await list(opened).focus();
    await expectSelected(opened, "#2", "run.started");
    await page.keyboard.press("ArrowRight");
    await expectSelected(opened, "#3", "model.called");
    assert.equal(await detail(opened, "Cost"), `$${costs.calls[0].cost_usd}`);
    assert.equal(await detail(opened, "Input"), String(costs.calls[0].input_tokens));
    assert.equal(await detail(opened, "Cached"), String(costs.calls[0].cache_read_tokens));
    assert.equal(await detail(opened, "Output"), String(costs.calls[0].output_tokens));
    assert.equal(await detail(opened, "Reasoning"), String(costs.calls[0].reasoning_tokens));
    await page.keyboard.press("Shift+G");
    await expectSelected(opened, `#${session.event_log_count}`, "run.completed");
    assert.match(
      await page.locator(".step-so-far").textContent() ?? "",
      new RegExp(`^So far \\$${session.token_usage.cost_usd} · `),
    );
    await page.keyboard.press("ArrowLeft");
    assert.match(await selected(opened), /model\.called$/);
    await page.keyboard.press("g");
    await expectSelected(opened, "#2", "run.started");
    assert.equal(opened.requests.filter((request) => /GET \/(sessions|costs)/.test(request)).length, 2);
  },

  async "the timeline draws a call from its start, a tool up to its end, and both have their duration"(
    dashboard,
  ) {
    await using opened = await open(dashboard, "/timed?view=timeline");
    const { page } = opened;
    await page.getByText("5.0 s").last().waitFor();
    const bars = await page.locator(".step").evaluateAll((steps) =>
      steps.map((step) => {
        const bar = step.querySelector(".bar")!;
        const [type, gap] = [".step-type", ".step-gap"].map((name) => step.querySelector(name)!.textContent);
        return `${type} ${bar.getAttribute("x")}+${bar.getAttribute("width")} ${gap}`;
      })
    );
    assert.deepEqual(bars.slice(-5), [
      "model.called 0+40 4.0 s",
      "tool.called 40+0.6 +4.0 s",
      "tool.returned 40+10 1.0 s",
      "model.called 50+50 5.0 s",
      "run.completed 99.4+0.6 +5.0 s",
    ]);
    await page.getByRole("link", { name: "Compact" }).click();
    const gaps = page.locator(".step", { hasText: "model.called" }).locator(".step-gap");
    assert.deepEqual((await gaps.allTextContents()).slice(-2), ["4.0 s", "5.0 s"]);
  },

  async "hostile text is shown escaped"(dashboard) {
    await using opened = await open(dashboard, "/first?view=timeline&step=10");
    const input = opened.page.locator(".step-part .block");
    await input.first().waitFor();
    assert.equal(await input.first().textContent(), "\\u202e<img src=x onerror=alert(1)>\\x07 17 * 23");
    assert.equal(await opened.page.locator("img").count(), 0);
  },

  async "a link opens a step, a call, or a run"(dashboard) {
    const { body: costs } = await dashboard.purser.api("GET", "/sessions/first/costs");
    const { call_id, run_id } = costs.calls.at(-1);
    for (const [query, row] of [["step=5", "#5 tool.called"], [`call=${call_id}`, /^#\d+ model\.called$/]]) {
      await using opened = await open(dashboard, `/first?${query}`);
      await opened.page.locator(".steps:focus").waitFor();
      if (typeof row === "string") assert.equal(await selected(opened), row);
      else assert.match(await selected(opened), row!);
    }
    await using opened = await open(dashboard, "/first?tab=runs");
    const { page } = opened;
    const { body: run } = await dashboard.purser.api("GET", `/runs/${run_id}`);
    const row = page.locator("tbody tr", { hasText: run_id });
    assert.equal(await row.locator("data").getAttribute("value"), String(run.token_usage.cost_usd));
    const [first] = JSON.parse(await downloaded(page, "JSON", "Runs of the session"));
    assert.equal(first.run_id, run_id);
    for (const name of ["status", "model", "started_at", "ended_at"]) assert.equal(first[name], run[name]);
    assert.equal(first.cost_usd, run.token_usage.cost_usd);
    await page.getByRole("link", { name: run_id }).click();
    await expectSelected(opened, "#10", "run.started");
    await page.waitForURL(/run=/);
  },

  async "a step is shown as JSON, and the cost grows call by call"(dashboard) {
    await using opened = await open(dashboard, "/second?view=json&step=3");
    const { page } = opened;
    const { body: events } = await dashboard.purser.api("GET", "/sessions/second/events");
    await page.getByRole("region", { name: "The step as JSON" }).getByText('"seq": 3').waitFor();
    const step = JSON.parse(await page.getByRole("region", { name: "The step as JSON" }).textContent() ?? "");
    assert.deepEqual(step.payload, events[2].payload);
    assert.equal(step.cost_usd_so_far, events[3].payload.cost_usd);
    const { body: session } = await dashboard.purser.api("GET", "/sessions/second");
    await page.getByText("Data as a table").click();
    const last = page.getByRole("region", { name: "Cost of the session: data" }).locator("tr").last();
    assert.match(await last.textContent() ?? "", /loop\$0\.000\d+$/);
    assert.match(
      await page.locator(".finding").textContent() ?? "",
      new RegExp(
        `after ${session.token_usage.model_calls} calls; the dearest is #\\d+ with \\$0\\.0000\\d+$`,
      ),
    );
  },

  async [`a log of ${LONG} events is read on demand, and stays usable`](dashboard) {
    await using opened = await open(dashboard, "/long?view=timeline");
    const { page } = opened;
    await list(opened).focus();
    await expectSelected(opened, "#1", "session.created");
    const pages = () => opened.requests.filter((request) => /\/events\?/.test(request)).length;
    assert.equal(pages(), 1);
    assert.ok(await page.locator(".step").count() < 60);
    await page.keyboard.press("Shift+G");
    await page.locator(".seeking").waitFor();
    await page.locator('.step[aria-selected="true"]', { hasText: `#${LONG}` }).waitFor({ timeout: 60_000 });
    assert.ok(pages() >= LONG / 500 && pages() <= LONG / 500 + 2, String(pages()));
    assert.ok(await page.locator(".step").count() < 60);
    const pressed = performance.now();
    await page.keyboard.press("ArrowLeft");
    await expectSelected(opened, `#${LONG - 1}`, "tool.called");
    assert.ok(performance.now() - pressed < 1_500, "a key is answered at once");
    await page.keyboard.press("g");
    await expectSelected(opened, "#1", "session.created");
  },

  async "a session of reported calls has its calls"(dashboard) {
    await using opened = await open(dashboard, "/reported");
    const { page } = opened;
    await page.getByText("This session has no log here").waitFor();
    // Nor is a session of the gateway a run that its reader failed to make.
    await page.getByText("through the gateway, of a meter, or reported").waitFor();
    const cell = page.getByRole("region", { name: "Calls of the session" }).locator("tbody tr td");
    assert.equal(await cell.nth(1).textContent(), "acme:\\u202e<img src=x onerror=");
    for (const name of [cell.nth(1), cell.last()]) {
      const wrap = await name.locator("span").evaluate((element) => getComputedStyle(element).whiteSpace);
      assert.equal(wrap, "nowrap", "a name is not broken at its hyphens");
    }
    const cost = page.locator(".stat-value data").first();
    assert.deepEqual([await cost.textContent(), await cost.getAttribute("title")], ["$0.7512", "$0.7512345"]);
  },

  async "a session that there is not is not found, and says so"(dashboard) {
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/sessions/ses_missing`);
    await opened.page.getByText("No session has this address").waitFor();
    assert.equal(await opened.page.getByRole("button", { name: "Try again" }).count(), 0);
  },

  async "a run in progress is cancelled, which is asked once and said"(dashboard) {
    const { purser } = dashboard;
    await purser.api("PUT", "/agents/waiting", { model: "slow:model" });
    const run = purser.api("POST", "/agents/waiting/runs", { input: "Wait", session_id: "waiting" });
    await using opened = await open(dashboard, "");
    const { page } = opened;
    await page.getByRole("link", { name: "waiting" }).first().click();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
    await page.locator(".toast", { hasText: /^Cancelled the run run_/ }).waitFor();
    await run;
    assert.equal((await purser.api("GET", "/sessions/waiting")).body.status, "cancelled");
    await page.locator(".badge", { hasText: "cancelled" }).first().waitFor();
  },

  async "every page is accessible"(dashboard) {
    await using opened = await open(dashboard, "");
    for (
      const path of [
        "",
        "?order=dearest",
        "/second",
        "/first?view=timeline&step=5",
        "/second?tab=runs",
        "/second?tab=calls",
      ]
    ) {
      await changeAddress(opened.page, `/ui/sessions${path}`);
      await opened.page.locator("main table, main .step").first().waitFor();
      await expectAccessible(opened.page, path);
    }
  },
});

testDashboard("more sessions than are searched at once", {}, {
  async "are searched for a status page by page, and say that older ones are left"(dashboard) {
    const { purser } = dashboard;
    const calls = Array.from({ length: 2_001 }, (_, index) => ({
      call_id: `many-${index}`,
      at: new Date(purser.clock.now() - index * 1_000).toISOString(),
      agent_id: "elsewhere",
      session_id: `many-${index}`,
      provider: "acme",
      model: "m",
      input_tokens: 1,
      output_tokens: 1,
      cost_usd: 0.01,
    }));
    for (let start = 0; start < calls.length; start += 1_000) {
      const { status } = await purser.api("POST", "/costs/events", calls.slice(start, start + 1_000));
      assert.equal(status, 201);
    }
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/sessions?status=failed`);
    const { page } = opened;
    await page.getByText("None of the latest sessions matches").waitFor();
    await page.getByRole("button", { name: "Search older ones" }).click();
    await page.getByText("No session matches").waitFor();
    await expectAccessible(page);
  },
});
