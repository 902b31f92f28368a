import assert from "node:assert/strict";
import { expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { openAt, rowsOf } from "./_money.ts";

/** The tickets of budgets in a browser, where a person answers them. */

const HOSTILE = "<img src=x onerror=alert(1)>";

testDashboard("approvals", {}, {
  async "teach how a budget asks where there is nothing yet"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    await opened.page.getByRole("link", { name: "Approvals" }).click();
    await opened.page.getByText("Nothing was asked for").waitFor();
  },

  async "are approved with an amount, or denied, each with a reason"({ purser, ...dashboard }) {
    for (const [index, agent_id] of ["coder", "tester"].entries()) {
      await purser.api("POST", "/budgets", {
        ...{ name: index ? "Test" : HOSTILE, limit_usd: 0, per: "day", agent_id, action: "ask" },
      });
      const call = { agent_id, worst_case_usd: 2.5 };
      const { status } = await purser.api("POST", "/budgets/reservations", call);
      assert.equal(status, 402);
      purser.clock.advance(1);
    }
    await using opened = await openAt({ purser, ...dashboard }, "/ui/budgets/approvals");
    const { page } = opened;
    const [test, hostile] = await rowsOf(page, "Approvals");
    assert.match(test!, /\| Testagent tester \| .* \| \$2\.50 \| waiting \| Approve Deny$/);
    assert.ok(hostile!.includes(HOSTILE));
    await expectAccessible(page);
    const row = page.locator("tr", { hasText: "Testagent tester" });
    await row.getByRole("button", { name: "Approve" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Extra USD").fill("5");
    await dialog.getByLabel("Reason").fill("release");
    await dialog.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved: the budget Test is raised by $5").waitFor();
    await page.locator("tr", { hasText: HOSTILE }).getByRole("button", { name: "Deny" }).click();
    await dialog.getByLabel("Reason").fill("tomorrow");
    await dialog.getByRole("button", { name: "Deny" }).click();
    await page.getByText("are refused").waitFor();
    const { body } = await purser.api("GET", "/approvals");
    assert.deepEqual(
      body.map(({ state, reason }: { state: string; reason: string }) => [state, reason]),
      [["approved", "release"], ["denied", "tomorrow"]],
    );
    assert.equal(await row.getByRole("button").count(), 0);
  },
});
