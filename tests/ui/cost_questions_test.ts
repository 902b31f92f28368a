import assert from "node:assert/strict";
import { fixedClock } from "../../src/kernel/clock.ts";
import { changeAddress } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { ask, bookCalls, expectFewRequests, figure, NOW, open, rowsOf } from "./_costs.ts";

/** The other questions about costs in the dashboard, with exact figures: what changed, the forecast, caching, coverage. */

testDashboard("the questions about costs in the dashboard", { clock: fixedClock(NOW) }, {
  "the calls are booked": bookCalls,

  async "a week is compared with the one before, and the change has its factors"(dashboard) {
    await using opened = await open(dashboard, "/compare?span=week");
    const total = await ask(
      dashboard,
      "/costs/total?from=2026-11-23&compare_from=2026-11-16&compare_to=2026-11-18T12:00:00Z",
    );
    assert.equal(await figure(opened, "This week"), String(total.cost_usd));
    assert.equal(await figure(opened, "The week before"), "1");
    assert.equal(await figure(opened, "Difference"), String(total.difference_usd));
    const factors = await rowsOf(opened, "Factors of the change");
    assert.deepEqual(factors.map(([name]) => name), [
      "Calls",
      "Tokens per call",
      "Mix of models",
      "Price per token within a model",
      "Cost",
    ]);
    assert.deepEqual(factors.slice(0, 2).map((row) => row.slice(1)), [["1 → 5", "+400%"], [
      "1,100 → 1,100",
      "0%",
    ]]);
    const agents = await rowsOf(opened, "Costs by agent, compared");
    assert.deepEqual(agents[0], ["researcher", "2", "1", "1.75", "1", "0.75", "+75%"]);
    expectFewRequests(opened);
  },

  async "any span is compared with the one before, and what moved most is first"(dashboard) {
    await using opened = await open(dashboard, "/compare?span=today");
    const { page } = opened;
    const query = "from=2026-11-25&compare_from=2026-11-24&compare_to=2026-11-24T12:00:00Z";
    const total = await ask(dashboard, `/costs/total?${query}`);
    assert.equal(await figure(opened, "Today"), String(total.cost_usd));
    assert.equal(await figure(opened, "The day before"), "1.5");
    assert.equal(await figure(opened, "Difference"), String(total.difference_usd));
    const agents = await rowsOf(opened, "Costs by agent, compared");
    assert.deepEqual(agents.map(([name, calls, before]) => [name, calls, before]), [
      ["researcher", "1", "1"],
      ["support", "3", "0"],
    ]);
    assert.deepEqual(agents.map((row) => row.at(-1)), ["−83%", "new"]);
    await page.getByText("researcher moved most: ").waitFor();
    await page.getByLabel("Group by", { exact: true }).selectOption("By tag");
    await page.getByRole("region", { name: "Costs by tag customer, compared" }).waitFor();
    const tags = await rowsOf(opened, "Costs by tag customer, compared");
    assert.deepEqual(tags.map((row) => row.slice(0, 3)), [["acme", "1", "1"], ["globex", "3", "0"]]);

    await page.getByLabel("Span", { exact: true }).selectOption("Yesterday");
    await page.getByRole("heading", { name: "Yesterday, and the day before" }).waitFor();
    assert.equal(await figure(opened, "Yesterday"), "1.5");
    await changeAddress(page, "/ui/costs/compare?span=all");
    await page.getByText("There is no span before the one in all time").waitFor();
  },

  async "the forecast shows no span, since it is of the month"(dashboard) {
    await using opened = await open(dashboard, "/forecast?from=2026-11-24&to=2026-11-25&agent_id=support");
    await opened.page.locator(".chip").first().waitFor();
    assert.equal(await opened.page.locator(".chip").count(), 1);
    assert.equal(await opened.page.getByLabel("First day (UTC)").count(), 0);
  },

  async "caching has what it saved, and what it could"(dashboard) {
    await using opened = await open(dashboard, "/caching?by=agent");
    const report = await ask(dashboard, "/costs/caching?from=2026-11-19&group_by=agent");
    assert.ok(report.saved_usd > 0);
    assert.equal(await figure(opened, "Saved"), String(report.saved_usd));
    assert.equal(await figure(opened, "Hit rate"), "16%");
    assert.equal(await figure(opened, "Could be saved, at most"), String(report.possible_usd));
    const rows = await rowsOf(opened, "Caching by agent");
    assert.deepEqual(rows.find(([name]) => name === "support")!.slice(0, 3), ["support", "3,000", "800"]);
    expectFewRequests(opened);
  },

  async "coverage names the calls without a price, and the fix"(dashboard) {
    await using opened = await open(dashboard, "/coverage");
    await opened.page.getByText("4 of 5 calls have a price for all parts, 0 for some, 1 for none.").waitFor();
    const rows = await rowsOf(
      opened,
      "Models with calls that lack a price, are estimated or lower bounds",
    );
    assert.deepEqual(rows, [
      ["acme:unknown", "1", "1", "0", "0", "0", "no price"],
      ["acme:\\u202e<img src=x onerror=alert(1)>", "1", "0", "0", "1", "0", "0.125"],
    ]);
    await opened.page.getByText("purser reprice --unpriced --apply").waitFor();
    const [step, row] = await Promise.all(
      [".fix li", "tbody td"].map((selector) =>
        opened.page.locator(selector).first().evaluate((element) => getComputedStyle(element).fontSize)
      ),
    );
    assert.equal(step, row, "the steps are as large as the tables");
    expectFewRequests(opened);
    await changeAddress(opened.page, "/ui/costs/coverage?agent_id=unknown");
    await opened.page.getByText("No model was called in this span").waitFor();
    assert.equal(await opened.page.getByText("Every call has a price").count(), 0);
  },

  async "the month has a forecast as a range, and none before three days of calls"(dashboard) {
    await using opened = await open(dashboard, "/forecast");
    const forecast = await ask(dashboard, "/costs/forecast");
    assert.ok(forecast.low_usd > 0);
    assert.equal(await figure(opened, "Spent so far"), String(forecast.cost_usd));
    assert.equal(await figure(opened, "At the pace so far"), String(forecast.forecast_usd));
    assert.equal(await figure(opened, "By weekdays"), String(forecast.weekday_forecast_usd));
    expectFewRequests(opened);
    await changeAddress(opened.page, "/ui/costs/forecast?agent_id=support");
    await opened.page.getByText("Too early for a forecast").waitFor();
  },
});
