import assert from "node:assert/strict";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { EVENT } from "../harness/bodies.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { fixedClock } from "../../src/kernel/clock.ts";

/** Calls that a plan pays for, in the dashboard: their plan value is apart from what is billed. */

const NOW = Date.parse("2026-11-25T12:30:00.000Z");
const AT = "2026-11-25T09:00:00.000Z";
const CALL = { ...EVENT, at: AT, session_id: "ses_a" };

testDashboard("the plan value in the dashboard", { clock: fixedClock(NOW) }, {
  async "without a plan's call, no page has one"({ browser, purser, url }) {
    await purser.api("POST", "/costs/events", [{ ...CALL, call_id: "billed", cost_usd: 0.5 }]);
    await using opened = await browser.open(`${url}/ui/costs`, { at: NOW });
    await opened.page.getByRole("region", { name: "Costs by model" }).waitFor();
    assert.doesNotMatch(await opened.page.locator("main").textContent() ?? "", /plan/i);
  },

  async "the costs have a figure and a column of it, and a call says that a plan pays"(
    { browser, purser, url },
  ) {
    await purser.api("POST", "/costs/events", [
      { ...CALL, call_id: "plan", billing: "plan", plan_usd: 0.25 },
      { ...CALL, call_id: "unknown", billing: "plan", model: "no-price" },
    ]);
    await using opened = await browser.open(`${url}/ui/costs`, { at: NOW });
    const { page } = opened;
    const figure = (label: string) =>
      page.locator(".stat", { has: page.getByText(label, { exact: true }) }).locator(".stat-value data");
    assert.equal(await figure("Plan value").getAttribute("value"), "0.25");
    assert.equal(await figure("Cost").getAttribute("value"), "0.5");
    const table = page.getByRole("region", { name: "Costs by model" });
    const amounts = await table.locator("tbody tr").first().locator("data").evaluateAll((all) =>
      all.map((one) => one.getAttribute("value"))
    );
    assert.deepEqual(amounts, ["0.25", "0.5"]);
    await expectAccessible(page, "costs");
    await changeAddress(page, "/ui/sessions/ses_a");
    const calls = page.getByRole("region", { name: "Calls of the session" });
    await calls.waitFor();
    const rows = await calls.locator("tbody tr").allTextContents();
    assert.equal(rows.filter((row) => /\$0a plan pays \$0\.25/.test(row)).length, 1, rows.join("\n"));
    assert.equal(rows.filter((row) => /no pricea plan pays no price/.test(row)).length, 1, rows.join("\n"));
  },
});
