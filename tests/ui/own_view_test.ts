import assert from "node:assert/strict";
import { createWebSession } from "../../src/keys/mod.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { testDashboard } from "../harness/dashboard.ts";
import { makeKey, openHttpClient } from "../harness/http_client.ts";
import { call, dataRequests, openAt, rowsOf, statOf } from "./_money.ts";

/** The page of the dashboard for the holder of a key. */

testDashboard("the page of one's own spending", {}, {
  async "is all that a key without the scope read sees, and is of that key alone"(dashboard) {
    const { purser } = dashboard;
    const client = openHttpClient(purser);
    const anna = await makeKey(purser, ["call", "run"], { name: "anna", tags: { user: "anna.k" } });
    const bob = await makeKey(purser, ["report"], { name: "bob", tags: { user: "bob.m" } });
    const each = { limit_usd: 1, per: "month", each: "tag:user" };
    const { body: { budget_id } } = await purser.api("POST", "/budgets", { name: "People", ...each });
    for (const [{ key }, name, cost] of [[anna, "anna", 0.85], [bob, "bob", 0.25]] as const) {
      const booked = call(name, "2026-11-01T11:30:00.000Z", name, cost);
      assert.equal((await client.send("POST", "/costs/events", { key, body: [booked] })).status, 201);
    }
    const refused = { key: anna.key, body: { agent_id: "anna", estimate_usd: 0.5 } };
    await purser.api("POST", "/budgets", { name: "Anna", limit_usd: 1, per: "day", key_id: "anna" });
    assert.equal((await client.send("POST", "/budgets/reservations", refused)).status, 402);
    const scopes = ["call", "run"] as const;
    const { token } = await createWebSession(purser.core, { keyId: anna.keyId, scopes, agentId: null });
    await using opened = await openAt(dashboard, "/ui/", { session: token });
    const { page } = opened;
    await page.getByRole("heading", { name: "My spending" }).waitFor();
    assert.equal(await statOf(page, "This month (UTC)"), "$0.85 | 1 call");
    assert.deepEqual((await rowsOf(page, "Budgets")).map((row) => row.replaceAll(/\s+/g, " ")), [
      "People Neartag user=anna.k, UTC month | $0.85 of $1.0085% | in 29 d 12 h | $0.15",
      "Anna Nearkey anna (anna.k), UTC day | $0.85 of $1.0085% | in 12 h | $0.15",
    ]);
    assert.deepEqual(await rowsOf(page, "Sessions"), ["ses_anna | 1 | $0.85 | 2026-11-01 11:30 UTC"]);
    const [refusal] = await rowsOf(page, "Refused calls");
    assert.match(refusal!, /^just now \| annakey anna \(anna\.k\) \| none \| Anna, day: /);
    const ask = page.locator("details", { hasText: "Ask for more of Anna" });
    await ask.locator("summary").click();
    assert.equal(
      await ask.getByRole("region", { name: "The message" }).textContent(),
      "Please raise the budget “Anna” for key anna (anna.k) (UTC day): $0.85 of $1 is spent. It resets at 2026-11-02 00:00 UTC.",
    );
    // Nothing leads to what the key may not read, and nothing of it is asked for.
    const main = page.getByRole("main");
    assert.deepEqual(await page.getByRole("navigation", { name: "Sections" }).allTextContents(), [
      "My spending",
    ]);
    const links = await main.getByRole("link").evaluateAll((all) =>
      all.map((link) => link.getAttribute("href")!).filter((href) => !/^(#|\/ui\/\?)/.test(href))
    );
    assert.deepEqual(links, []);
    assert.ok(!(await main.textContent())!.includes("bob"));
    for (const path of [`budgets/${budget_id}`, "sessions/ses_bob", "keys", "costs"]) {
      await changeAddress(page, `/ui/${path}`);
      await page.getByText("No page has this address").waitFor();
    }
    assert.deepEqual(new Set(dataRequests(opened)), new Set(["GET /me"]));
    assert.equal((await client.send("GET", `/budgets/${budget_id}`, { key: anna.key })).status, 403);
    await changeAddress(page, "/ui/me");
    await page.getByText("Live, every 5 s").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused").waitFor();
    await expectAccessible(page);
  },

  async "has links for a key that may read, of whose agent alone ids are found"(dashboard) {
    const { purser } = dashboard;
    const { keyId } = await makeKey(purser, ["read"], { name: "reader", agent_id: "anna" });
    const session = { keyId, scopes: ["read" as const], agentId: "anna" };
    const { token } = await createWebSession(purser.core, session);
    await using opened = await openAt(dashboard, "/ui/", { session: token });
    const { page } = opened;
    await page.getByRole("heading", { name: "Now", exact: true }).waitFor();
    await page.getByRole("link", { name: "My spending" }).click();
    await page.getByText("No call has been made with this key").waitFor();
    await changeAddress(page, "/ui/sessions/ses_bob");
    await page.getByText("No session has this address").waitFor();
  },
});
