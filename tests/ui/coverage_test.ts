import assert from "node:assert/strict";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { isThorough } from "../harness/thorough.ts";
import { bookCalls, call, dataRequests, openAt } from "./_money.ts";

/** The calls whose cost is not known are named in the head of each page that may count them. */

const PAGES: Readonly<Record<string, string>> = {
  "/ui/": "1 of 4 calls has no price",
  "/ui/?span=all": "1 of 6 calls has no price, 1 is estimated",
  "/ui/costs?span=all": "1 of 6 calls has no price, 1 is estimated",
  "/ui/costs?agent_id=coder": "1 of 2 calls is estimated",
  "/ui/costs/compare?span=month": "1 of 4 calls has no price",
  "/ui/costs/caching": "1 of 6 calls has no price, 1 is estimated",
  "/ui/costs/forecast": "1 of 4 calls has no price",
  "/ui/budgets": "1 of 6 calls has no price, 1 is estimated",
  "/ui/budgets/alerts": "1 of 6 calls has no price, 1 is estimated",
  "/ui/budgets/refusals": "1 of 6 calls has no price, 1 is estimated",
  "/ui/sessions": "1 of 6 calls has no price, 1 is estimated",
  "/ui/sessions/ses_support": "1 of 2 calls has no price",
  "/ui/sources": "1 of 6 calls has no price, 1 is estimated",
  "/ui/keys": "1 of 6 calls has no price, 1 is estimated",
  "/ui/keys/channels": "1 of 6 calls has no price, 1 is estimated",
};

/** Pages that count all calls, as does one that is opened in the gate. */
const SAME = [
  "/ui/budgets/alerts",
  "/ui/budgets/refusals",
  "/ui/sessions",
  "/ui/sources",
  "/ui/keys/channels",
];

testDashboard("the calls without a known cost", {}, {
  async "are named on no page while there are none"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    await opened.page.getByText("No budget yet").waitFor();
    assert.equal(await opened.page.locator(".coverage-note").count(), 0);
  },

  async "are named in the head of every page, with a link to those of its span and to the fix"(dashboard) {
    await bookCalls(dashboard.purser);
    const estimated = call("6", "2026-10-31T11:00:00.000Z", "coder", 1, { estimated: true });
    assert.equal((await dashboard.purser.api("POST", "/costs/events", [estimated])).status, 201);
    await using opened = await openAt(dashboard, "/ui/costs/coverage");
    for (const [path, text] of Object.entries(PAGES)) {
      if (!isThorough && SAME.includes(path)) continue;
      opened.requests.length = 0;
      await changeAddress(opened.page, path);
      const note = opened.page.locator(".coverage-note");
      await note.waitFor();
      assert.equal(
        await note.textContent(),
        `${text}: see which${text.includes("no price") ? ", and the fix" : ""}`,
        path,
      );
      // Besides that for the prices, which the page before may still ask for.
      const asked = dataRequests(opened).filter((request) => !request.includes("/prices/rows"));
      assert.ok(asked.length <= 4, `${path}: ${asked.join()}`);
      await note.getByRole("link").click();
      await opened.page.getByRole("heading", { name: /^Calls with a price/ }).waitFor();
      assert.equal(await opened.page.locator(".coverage-note").count(), 0);
      // Its own requests have been answered, so that they are not those of the next page.
      await opened.page.waitForFunction(() => document.querySelector(".skeleton") === null);
    }
  },

  async "are named as soon as one is booked"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    await opened.page.getByText("1 of 6 calls has no price").waitFor();
    await dashboard.purser.api("POST", "/costs/events", [
      call("7", "2026-11-01T11:59:00.000Z", "coder", null),
    ]);
    dashboard.purser.clock.advance(2_000);
    await opened.page.getByText("2 of 7 calls have no price").waitFor();
    await expectAccessible(opened.page);
  },
});
