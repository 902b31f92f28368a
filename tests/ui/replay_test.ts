import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import type { TestPage } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { cases } from "../harness/thorough.ts";
import { downloaded } from "./_downloads.ts";
import { makeRuns, open } from "./_sessions.ts";

/** The replay of a session in the dashboard by the keyboard. */

/** The events of a long log: 100,000 in a thorough run of a factor of four. */
const LONG = cases(10_000);

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

testDashboard("the replay of a session in the dashboard", { clock: systemClock }, {
  async "runs are made, and one log is long"({ purser }) {
    await makeRuns({ purser });
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
    assert.equal(
      opened.requests.filter((request) => /GET \/(sessions|costs)(?!.*\/tree)/.test(request)).length,
      2,
    );
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
});
