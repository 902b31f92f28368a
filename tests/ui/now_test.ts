import assert from "node:assert/strict";
import { CALCULATOR_CALL } from "../fixtures/providers/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { expectAccessible } from "../harness/browser.ts";
import { SECTIONS } from "../../src/ui/app/sections.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { downloaded } from "./_downloads.ts";
import { bookCalls, call, dataRequests, openAt, rowsOf, statOf } from "./_money.ts";

/** The home page: the money of today, what spends at present, and the limits. */

/**
 * Calls a tool. Asked to go "Again", it does so five times with the same input; else the first call costs $0.20, and the
 * second one is not answered until the run is cancelled.
 */
const fake = await startFakeProvider((request) => {
  const text = JSON.stringify(request.body.messages);
  const rounds = text.split('"role":"tool"').length - 1;
  const isAgain = text.includes("Again");
  if (isAgain && rounds === 5) return answerTo(request, { text: "Done" });
  if (!isAgain && rounds === 1) return { hang: true };
  return answerTo(request, {
    toolCall: { id: `call_${rounds}`, ...CALCULATOR_CALL },
    usage: { inputTokens: isAgain ? 10 : 200_000, outputTokens: 0 },
  });
});

testDashboard("the home page", { fake }, {
  async "teaches the next commands where there is nothing yet"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    await page.getByText("No calls today").waitFor();
    const commands = await page.getByRole("region", { name: "Command" }).allTextContents();
    assert.deepEqual(commands.map((text) => text.split(" ").slice(0, 3).join(" ")), [
      "purser agents set",
      "purser budgets add",
      "purser alerts add",
    ]);
    await expectAccessible(page);
  },

  async "shows where the money of today went, by model and by agent"(dashboard) {
    await bookCalls(dashboard.purser);
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    const caption = "Spending today by model";
    assert.deepEqual(await rowsOf(page, caption), [
      "openai:gpt-5 | 2 | 0 | 88% | $1.75",
      "anthropic:claude-5 | 1 | 0 | 13% | $0.25",
      "acme:house-7b | 1 | 1 | – | no price",
    ]);
    assert.equal(await statOf(page, "Spent today"), "$2.00 | 4 calls, 1 without a price");
    await page.getByText("$2.00 today, 88% of it openai:gpt-5.", { exact: true }).waitFor();
    assert.ok(dataRequests(opened).length <= 4, dataRequests(opened).join());

    await page.getByRole("link", { name: "Agents", exact: true }).click();
    assert.deepEqual(await rowsOf(page, "Spending today by agent"), [
      "researcher | 2 | 0 | 75% | $1.50",
      "support | 2 | 1 | 25% | $0.50",
    ]);
    assert.match(page.url(), /\?by=agent$/);
  },

  async "shows yesterday and any days too, in the address, each bar as a link"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/?by=agent");
    const { page } = opened;
    await page.getByLabel("Span", { exact: true }).selectOption("Yesterday");
    await page.getByRole("region", { name: "Spending yesterday by agent" }).waitFor();
    assert.match(page.url(), /\?by=agent&span=yesterday$/);
    assert.deepEqual(await rowsOf(page, "Spending yesterday by agent"), ["coder | 1 | 100% | $3.00"]);
    assert.equal(await statOf(page, "Spent yesterday"), "$3.00 | 1 call");
    assert.equal(await page.locator(".chart-links a").count(), 24);
    await page.getByLabel("First day (UTC)").fill("2026-10-30");
    await page.getByRole("region", { name: "Spending from 2026-10-30 to 2026-10-31 by agent" }).waitFor();
    assert.match(page.url(), /from=2026-10-30&to=2026-11-01$/);
    const bar = "/ui/costs?from=2026-10-31T10%3A00%3A00.000Z&to=2026-10-31T11%3A00%3A00.000Z";
    await page.locator(`.chart-links a[href="${bar}"]`).click();
    await page.getByRole("heading", { name: "Spent on 2026-10-31 from 10:00 to 11:00 UTC" }).waitFor();
  },

  async "shows longer spans, of which the server has made the sums"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/?by=agent&span=7d");
    const { page } = opened;
    assert.deepEqual(await rowsOf(page, "Spending in the last 7 days by agent"), [
      "coder | 1 | 0 | 60% | $3.00",
      "researcher | 2 | 0 | 30% | $1.50",
      "support | 2 | 1 | 10% | $0.50",
    ]);
    assert.equal(await statOf(page, "Spent in the last 7 days"), "$5.00 | 5 calls, 1 without a price");
    assert.deepEqual(dataRequests(opened), [
      "GET /costs/total?from=2026-10-26&time_zone=UTC",
      "GET /costs?group_by=agent&from=2026-10-26&time_zone=UTC",
      "GET /costs?group_by=day&split_by=agent&from=2026-10-26&time_zone=UTC&limit=1000",
      "GET /plans",
    ]);
    await page.getByText("Data as a table").click();
    const days = await rowsOf(page, "Spending in the last 7 days by agent: data");
    assert.deepEqual(days.slice(-3), [
      "2026-10-30 | – | – | –",
      "2026-10-31 | $3.00 | – | –",
      "2026-11-01 | – | $1.50 | $0.50",
    ]);
    assert.equal(days.length, 7);
  },

  async "opens the costs of an hour from its bar by the keyboard"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/");
    const chart = opened.page.getByRole("img", { name: /^Spending today by model: / });
    await chart.focus();
    await chart.press("Home");
    for (let hour = 0; hour < 11; hour++) await chart.press("ArrowRight");
    await opened.page.getByText("Nov 1, 11:00 UTC").waitFor();
    await chart.press("Enter");
    const { pathname, searchParams } = new URL(opened.page.url());
    assert.equal(pathname, "/ui/costs");
    assert.deepEqual([searchParams.get("from"), searchParams.get("to")], [
      "2026-11-01T11:00:00.000Z",
      "2026-11-01T12:00:00.000Z",
    ]);
  },

  async "shows the pace of agents, and how close the limits are"(dashboard) {
    const { purser } = dashboard;
    const post = (path: string, body: object) => purser.api("POST", path, body);
    await post("/budgets", { name: "Day", limit_usd: 2.5, per: "day" });
    await post("/budgets", { name: "Support", limit_usd: 0.5, per: "month", agent_id: "support" });
    await post("/alerts/rules", {
      name: "Hour",
      threshold_type: "per_hour_usd",
      threshold_usd: 3.5,
      severity: "warning",
    });
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    assert.deepEqual(
      (await rowsOf(page, "Agents by their pace")).map((row) => row.split(" | ").filter(Boolean)),
      [
        ["researcher", "$0.1389", "$1.50"],
        ["support", "$0", "$0.50"],
      ],
    );
    const limits = await rowsOf(page, "Limits");
    assert.deepEqual(limits.map((row) => row.replaceAll(/\s+/g, " ")), [
      "Support Reachedbudget, agent support, UTC month | $0.50 of $0.50 + 1 unpriced100% | stops calls now | in 29 d 12 h",
      "Day Nearbudget, all agents, UTC day | $2.00 of $2.50 + 1 unpriced80% | in 17 min12:17 UTC, at $1.75/h | in 12 h",
      "Hour OKrule, all agents, last 60 minutes | $1.75 of $3.5050% | in 14 min12:14 UTC, at $7.50/h | rolling",
    ]);
    const lines = (await downloaded(page, "CSV", "Limits")).trim().split("\r\n");
    assert.deepEqual(lines.map((line) => line.split(",").toSpliced(1, 1).slice(0, 8).join()), [
      "kind,name,scope,per,spent_usd,reserved_usd,limit_usd,extra_usd",
      "budget,Support,agent support,month,0.5,0,0.5,0",
      "budget,Day,all agents,day,2,0,2.5,0",
      "rule,Hour,all agents,hour,1.75,0,3.5,0",
    ]);
    assert.equal(await statOf(page, "Stops calls now"), "Support | then Day in 17 min");

    await page.getByRole("region", { name: "Limits", exact: true }).getByRole("link", { name: "Reached" })
      .click();
    const byTime = await rowsOf(page, "Limits");
    assert.deepEqual(byTime.map((row) => row.split(/\s/)[0]), ["Hour", "Day", "Support"]);
    await expectAccessible(page);
  },

  async "follows what other programs report, without a reload"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    await page.getByText("$2.00 today", { exact: false }).waitFor();
    await dashboard.purser.api("POST", "/costs/events", [call("6", "2026-11-01T11:59:00.000Z", "coder", 1)]);
    dashboard.purser.clock.advance(2_000);
    await page.getByText("$3.00 today", { exact: false }).waitFor();
    assert.equal(await statOf(page, "Spent today"), "$3.00 | 5 calls, 1 without a price");
  },

  async "shows what is out of the ordinary, with a link to its step"(dashboard) {
    const { purser } = dashboard;
    await purser.api("PATCH", `/budgets/${(await purser.api("GET", "/budgets")).body[0].budget_id}`, {
      limit_usd: 100,
    });
    await purser.api("PUT", "/agents/looper", { model: "local:my-model", tools: ["calculator"] });
    await purser.api("POST", "/agents/looper/runs", { input: "Again", session_id: "ses_loop" });
    assert.ok(
      await eventually(async () => {
        purser.clock.advance(50); // the monitor watches what was booked twenty times a second
        return (await purser.api("GET", "/anomalies")).body.length > 0;
      }),
      "no anomaly was detected",
    );
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    const [row] = await rowsOf(page, "Anomalies");
    assert.match(
      row!,
      /^just now \| warning looper called calculator 5 times with the same input in one run/,
    );
    await expectAccessible(page);
    await page.getByRole("link", { name: /^looper called calculator 5 times/ }).click();
    await page.waitForURL(/\/ui\/sessions\/ses_loop\?(call|run)=\w+$/);
  },

  async "keeps the limits and what is out of the ordinary at every span, within four requests"(dashboard) {
    for (const span of ["7d", "month", "all"]) {
      await using opened = await openAt(dashboard, `/ui/?span=${span}`);
      const limits = await rowsOf(opened.page, "Limits");
      assert.deepEqual(limits.map((row) => row.split(/\s/)[0]).sort(), ["Day", "Hour", "Support"]);
      assert.equal((await rowsOf(opened.page, "Anomalies")).length, 1);
      await opened.page.getByRole("figure").waitFor();
      assert.equal(dataRequests(opened).length, 4, dataRequests(opened).join());
    }
  },

  async "shows how much of each plan is used, once one was measured"(dashboard) {
    const { purser } = dashboard;
    {
      await using opened = await openAt(dashboard, "/ui/");
      await opened.page.getByRole("region", { name: "Limits", exact: true }).waitFor();
      assert.equal(await opened.page.getByText("How much of the plans is used").count(), 0);
    }
    const now = purser.clock.now();
    const window = (window: string, used_pct: number, hours: number, length_minutes: number) => ({
      window,
      used_pct,
      length_minutes,
      resets_at: new Date(now + hours * 3_600_000).toISOString(),
      measured_at: new Date(now).toISOString(),
    });
    await purser.api("POST", "/plans", {
      agent_id: "codex",
      source: "log",
      machine: "laptop",
      windows: [window("five_hour", 80, 2, 300), window("seven_day", 100, 84, 10_080)],
    });
    await using opened = await openAt(dashboard, "/ui/");
    assert.deepEqual(await rowsOf(opened.page, "Plans"), [
      "codexlaptop | five_hour | 80%60% of the time | in 45 min | in 2 h | unknown | just now | open",
      "codexlaptop | seven_day | 100%50% of the time | not before | in 3 d 12 h | unknown | just now | ended",
    ]);
    await expectAccessible(opened.page);
  },

  async "says since when its figures are old, and requests nothing periodically while it is paused, on no page"(
    dashboard,
  ) {
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/`, { hasClock: true });
    const { page } = opened;
    await page.getByText("Live", { exact: true }).waitFor();
    await page.clock.fastForward(41_000);
    await page.getByText("These figures are of 1970-01-01 00:00 UTC. The server sends nothing.").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    for (const { title } of SECTIONS.filter(({ isOwn }) => !isOwn).toReversed()) {
      const before = opened.requests.length;
      await page.getByRole("link", { name: title, exact: true }).click();
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
      await page.locator("main:not(:has(.skeleton))").waitFor();
      await page.clock.fastForward(180_000); // what is due periodically is called once,
      await page.clock.runFor(100); // and requests are sent once that was drawn
      const requests = opened.requests.slice(before);
      assert.equal(new Set(requests).size, requests.length, requests.join());
    }
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    const resumed = opened.requests.length;
    await page.clock.fastForward(60_000);
    await page.clock.runFor(100);
    assert.ok(opened.requests.length > resumed + 1);
  },

  async "shows runs in progress with their cost so far, and cancels one"(dashboard) {
    const { purser } = dashboard;
    await purser.api("PUT", "/agents/runner", {
      model: "local:my-model",
      tools: ["calculator"],
      cost_budget_usd: 0.8,
    });
    const before = fake.calls;
    const run = purser.api("POST", "/agents/runner/runs", { input: "Hi", session_id: "ses_runner" });
    assert.ok(await eventually(() => Promise.resolve(fake.calls === before + 2)), "the run has not begun");
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    const [row] = await rowsOf(page, "Runs in progress");
    assert.equal(row, "runnerses_runner | just now 1 step, local:my-model | $0.20 of $0.80 | Cancel run");
    assert.equal(await statOf(page, "Runs in progress"), "1 run");

    await page.getByRole("button", { name: "Cancel run" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Cancel run" });
    await dialog.getByText("after $0.20", { exact: false }).waitFor();
    await expectAccessible(page, "the dialog");
    const align = await dialog.evaluate((element) => getComputedStyle(element).textAlign);
    assert.equal(align, "start", "also in a row of a table");
    await dialog.getByRole("button", { name: "Cancel run" }).click();
    await page.getByText(/^Cancelled the run run_\S+ of runner$/).waitFor();
    assert.equal((await run).body.status, "cancelled");
    dashboard.purser.clock.advance(2_000);
    await page.getByText("No run is in progress").waitFor();
  },

  async "keeps the dialog of a run that ends meanwhile, and says so"(dashboard) {
    const { purser } = dashboard;
    const before = fake.calls;
    const run = purser.api("POST", "/agents/runner/runs", { input: "Hi", session_id: "ses_ending" });
    assert.ok(await eventually(() => Promise.resolve(fake.calls === before + 2)), "the run has not begun");
    await using opened = await openAt(dashboard, "/ui/");
    const { page } = opened;
    await page.getByRole("button", { name: "Cancel run" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel run" });
    await dialog.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.locator("button:focus", { hasText: "Cancel run" }).click();
    await dialog.waitFor();
    const [{ run_id }] = (await purser.api("GET", "/runs?status=running")).body;
    await purser.api("POST", `/runs/${run_id}/cancel`);
    await run;
    purser.clock.advance(2_000);
    await dialog.getByText("The run has ended.").waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Cancel run" }).count(), 0);
    await dialog.getByRole("button", { name: "Close" }).click();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await fake.close();
  },
});

/** Waits for a condition, at most two seconds. */
async function eventually(holds: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}
