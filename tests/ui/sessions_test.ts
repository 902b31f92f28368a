import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { HOSTILE, makeRuns, open } from "./_sessions.ts";

/** The sessions in the dashboard: their list, their search and their calls. */

/** A model that never answers. */
const silent = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  () => new Promise<Response>(() => {}),
);
silent.unref();

testDashboard("the sessions in the dashboard", {
  clock: systemClock,
  config: {
    providers: { slow: { baseUrl: `http://127.0.0.1:${silent.addr.port}/v1` } },
  },
}, {
  async "runs are made, and a call is reported"({ purser }) {
    await makeRuns({ purser });
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

  async "a session has its sub-agents as a tree, and a sub-agent's session leads to its root"(dashboard) {
    const { purser } = dashboard;
    const run = async (session_id: string, parent_run_id?: string) =>
      (await purser.api("POST", "/agents/helper/runs", { input: "Hi", session_id, parent_run_id })).body;
    const root = await run("root");
    await run("below", root.run_id);
    await purser.api("POST", "/costs/events", [{
      ...{ call_id: "told", at: new Date().toISOString(), agent_id: "helper", session_id: "root" },
      ...{ provider: "acme", model: "m", input_tokens: 1, output_tokens: 1, cost_usd: 0.25 },
      tags: { subagent: HOSTILE.slice(1, 25), subagent_type: "explore" },
    }]);
    await using opened = await open(dashboard, "/below");
    const { page } = opened;
    await page.getByRole("region", { name: "Sub-agents" }).getByRole("link", { name: "root" }).click();
    await page.getByRole("heading", { name: "Session root" }).waitFor();
    const tree = page.getByRole("table", { name: "Sub-agents" });
    await tree.getByText("explore <img src=x").waitFor();
    assert.deepEqual(
      (await tree.locator("tbody tr").allTextContents()).map((row) => /^\u2003*/.exec(row)![0].length),
      [
        ...[0, 1, 1],
      ],
    );
    const all = await tree.locator("tbody tr").first().locator("data").last().getAttribute("value");
    const { body } = await purser.api("GET", "/sessions/root/tree");
    assert.equal(all, String(body.agents[0].with_subagents.cost_usd));
    await tree.getByRole("link", { name: "below" }).waitFor();
    await expectAccessible(page);
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
