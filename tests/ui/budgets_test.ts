import assert from "node:assert/strict";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { expectAccessible } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { downloaded } from "./_downloads.ts";
import { bookCalls, dataRequests, openAt, rowsOf, statOf } from "./_money.ts";

/** Budgets and refused calls in a browser: how close each budget is, and what it refused. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>";
const HOSTILE_SHOWN = "\\u202e<img src=x onerror=alert(1)>";

const ids: Record<string, string> = {};

async function addBudget({ purser }: TestDashboard, body: { name: string } & Record<string, unknown>) {
  const { status, body: { budget_id } } = await purser.api("POST", "/budgets", body);
  assert.equal(status, 201);
  ids[body.name] = budget_id;
}

/** Returns the cells of the row of a budget. */
async function rowOf(page: Parameters<typeof rowsOf>[0], name: string): Promise<string[]> {
  const row = (await rowsOf(page, "Budgets")).find((row) => row.startsWith(name));
  assert.ok(row, name);
  return row.replaceAll(/\s+/g, " ").split(" | ");
}

testDashboard("budgets", {}, {
  async "teach the commands where there is nothing yet"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    await opened.page.getByText("purser budgets add --name Day").waitFor();
    await opened.page.getByText("purser alerts add --name").waitFor();
    await expectAccessible(opened.page);
    await opened.page.getByRole("link", { name: "Refusals" }).click();
    await opened.page.getByText("No call was refused").waitFor();
    await opened.page.getByRole("heading", { name: "Budgets & alerts" }).waitFor();
    await opened.page.getByRole("link", { name: "Alerts", exact: true }).click();
    await opened.page.getByText("No alert has fired").waitFor();
    await opened.page.getByRole("heading", { name: "Budgets & alerts" }).waitFor();
  },

  async "are grey while they are disabled"(dashboard) {
    const budget = { limit_usd: 0, per: "day", agent_id: "unused" };
    await addBudget(dashboard, { ...budget, name: "On" });
    await addBudget(dashboard, { ...budget, name: "Off", enabled: false });
    await using opened = await openAt(dashboard, "/ui/budgets");
    const [on, off] = await Promise.all(["On", "Off"].map(async (name) => {
      const row = opened.page.locator("tr", { has: opened.page.getByRole("link", { name, exact: true }) });
      const fill = await row.locator(".meter-used").evaluate((mark) => getComputedStyle(mark).fill);
      return [
        fill,
        await row.locator(".limit-amounts .limit-share").evaluate((text) => getComputedStyle(text).color),
      ];
    }));
    assert.notEqual(on![0], off![0]);
    assert.notEqual(on![1], off![1]);
    for (const id of [ids.On, ids.Off]) await dashboard.purser.api("DELETE", `/budgets/${id}`);
  },

  async "are listed with what is spent and left, and when each is reached"(dashboard) {
    await bookCalls(dashboard.purser);
    await addBudget(dashboard, { name: "Day", limit_usd: 2.5, per: "day" });
    await addBudget(dashboard, { name: "Support", limit_usd: 0.5, per: "month", agent_id: "support" });
    await addBudget(dashboard, { name: "Chats", limit_usd: 10, per: "session", action: "watch" });
    await addBudget(dashboard, { name: HOSTILE, limit_usd: 1000, per: "lifetime" });
    await using opened = await openAt(dashboard, "/ui/budgets");
    const { page } = opened;
    assert.deepEqual(await rowOf(page, "Day"), [
      "Day Nearall agents, UTC day",
      "$2.00 of $2.50 + 1 unpriced80%",
      "in 17 min12:17 UTC, at $1.75/h",
      "in 12 h",
      "$0.50",
      "0",
      "Raise",
    ]);
    assert.deepEqual((await rowOf(page, "Support")).slice(1, 5), [
      "$0.50 of $0.50 + 1 unpriced100%",
      "stops calls now",
      "in 29 d 12 h",
      "$0",
    ]);
    await page.getByText(
      "1 budget refuses calls now: Support. Day stops calls in 17 min, at 2026-11-01 12:17 UTC",
    )
      .waitFor();
    assert.equal(await page.getByText(HOSTILE_SHOWN).count(), 1);
    assert.equal(await page.locator("img").count(), 0);
    assert.deepEqual(dataRequests(opened), ["GET /alerts/rules", "GET /budgets"]);
    await expectAccessible(page);
  },

  async "are sorted by the time at which they are reached, in the URL"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    const { page } = opened;
    const first = async () => (await rowsOf(page, "Budgets"))[0]!.split(/\s/)[0];
    assert.equal(await first(), "Support");
    const budgets = page.getByRole("region", { name: "Budgets", exact: true });
    await budgets.getByRole("link", { name: "Reached" }).press("Enter");
    await page.waitForURL(/\?sort=reaches_at$/);
    assert.equal(await first(), "Day");
  },

  async "are raised for a time, by the keyboard, after a confirmation"(dashboard) {
    await using opened = await openAt(dashboard, `/ui/budgets/${ids.Day}`);
    const { page } = opened;
    assert.equal(await statOf(page, "Spent"), "$2.00 | all agents");
    assert.equal(await statOf(page, "Left"), "$0.50");
    await page.getByRole("button", { name: "Raise" }).press("Enter");
    const dialog = page.getByRole("dialog", { name: "Raise" });
    await dialog.getByLabel("Extra USD").fill("1.5");
    await dialog.getByLabel("Reason").fill("Release");
    await expectAccessible(page, "the dialog");
    await page.keyboard.press("Enter");
    await page.getByText("Raised the budget Day by $1.50 until 2026-11-02 00:00 UTC").waitFor();
    await page.getByText("$2.00 of $2.50 + $1.50 raised").waitFor();
    assert.equal(await statOf(page, "Left"), "$2.00");
    assert.deepEqual(await rowsOf(page, "Raises"), [
      "just now | $1.50 | all | 2026-11-02 00:00 UTC | Release | none",
    ]);
    const requests = new Set(dataRequests(opened));
    assert.equal([...requests].filter((request) => request.startsWith("GET")).length, 3);
    await expectAccessible(page);
  },

  async "list the calls that they refused, each with the reason"(dashboard) {
    const { purser } = dashboard;
    await purser.api("PUT", "/agents/support", { model: "demo:echo" });
    const { status } = await purser.api("POST", "/agents/support/runs", { input: "Hi", session_id: "ses_s" });
    assert.equal(status, 402);
    await using opened = await openAt(dashboard, "/ui/budgets");
    const { page } = opened;
    await page.getByRole("link", { name: "1 call", exact: true }).click();
    const [row, ...others] = await rowsOf(page, "Refused calls");
    assert.deepEqual(others, []);
    const [at, agent, session, by, spent, limit] = row!.split(" | ");
    assert.deepEqual([at, agent, session, spent, limit], ["just now", "support", "ses_s", "$0.50", "$0.50"]);
    assert.match(by!, /^Support, month: the limit is reached/);
    assert.match(page.url(), new RegExp(`refusals\\?budget_id=${ids.Support}$`));
    await page.getByText("Message").click();
    await page.getByText("Cannot make the next model call of run", { exact: false }).waitFor();
    await expectAccessible(page);

    await page.getByRole("combobox").first().selectOption({ label: "Day" });
    await page.getByText("No call was refused").waitFor();
  },

  async "download as CSV"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets");
    const [head, ...rows] = (await downloaded(opened.page, "CSV", "Budgets")).trim().split("\r\n");
    assert.match(head!, /^budget_id,name,limit_usd,/);
    assert.equal(rows.length, 4);
  },

  async "that only watch say how many calls they let through"(dashboard) {
    const { purser } = dashboard;
    await addBudget(dashboard, {
      name: "Trial",
      limit_usd: 0,
      per: "day",
      agent_id: "watched",
      action: "watch",
    });
    await purser.api("PUT", "/agents/watched", { model: "demo:echo" });
    assert.equal((await purser.api("POST", "/agents/watched/runs", { input: "Hi" })).status, 200);
    await using opened = await openAt(dashboard, "/ui/budgets");
    const { page } = opened;
    assert.equal((await rowOf(page, "Trial"))[5], "1 calllet through");
    const row = page.locator("tr", { has: page.getByRole("link", { name: "Trial" }) });
    assert.equal(await row.getByRole("link", { name: "1 call" }).count(), 0);
    await page.getByRole("link", { name: "Trial" }).first().click();
    await page.getByText("Watches, refuses nothing").waitFor();
    assert.equal(await page.getByText("Stops calls once it is reached").count(), 0);
  },

  async "show no button to a key that may only read"(dashboard) {
    const { purser } = dashboard;
    const key = await createKey(purser.core, {
      name: "Eve",
      scopes: ["read"],
      agentId: null,
      expiresAt: null,
    });
    const { token } = await createWebSession(purser.core, {
      keyId: key.key_id,
      scopes: key.scopes,
      agentId: null,
    });
    await using opened = await openAt(dashboard, `/ui/budgets/${ids.Day}`, { session: token });
    await opened.page.getByText("Stops calls once it is reached").waitFor();
    const buttons = await opened.page.getByRole("main").getByRole("button").allTextContents();
    assert.deepEqual(buttons, ["Pause"]);
  },

  async "of keys ask for the API key again, which nothing keeps"(dashboard) {
    const { purser } = dashboard;
    const made = { name: "Ada", scopes: ["admin" as const], agentId: null, expiresAt: null };
    const { key, key_id } = await createKey(purser.core, made);
    await addBudget(dashboard, { name: "Ada's", limit_usd: 5, per: "day", key_id });
    const { token } = await createWebSession(purser.core, {
      keyId: key_id,
      scopes: ["admin"],
      agentId: null,
    });
    await using opened = await openAt(dashboard, `/ui/budgets/${ids["Ada's"]}`, { session: token });
    const { page } = opened;
    for (
      const [label, field, done] of [
        ["Raise", "Extra USD", "Raised the budget Ada's by $7"],
        ["Edit", "Limit in USD", "Changed the budget Ada's"],
        ["Disable", undefined, "Disabled the budget Ada's"],
      ] as const
    ) {
      await page.getByRole("button", { name: label, exact: true }).click();
      const dialog = page.getByRole("dialog", { name: label });
      const confirm = dialog.getByRole("button", { name: label });
      if (field) await dialog.getByLabel(field).fill("7");
      assert.equal(await dialog.getByLabel("Your API key").count(), 0);
      await confirm.click();
      await dialog.getByText("enter the API key again").waitFor();
      await dialog.getByLabel("Your API key").fill(`${key.slice(0, -1)}?`);
      await confirm.click();
      await dialog.getByText("Cannot read the Authorization header").waitFor();
      if (label === "Raise") await expectAccessible(page);
      await dialog.getByLabel("Your API key").fill(key);
      await confirm.click();
      await page.locator(".toast", { hasText: done }).waitFor();
    }
    const { body } = await purser.api("GET", `/budgets/${ids["Ada's"]}`);
    assert.deepEqual([body.extra_usd, body.limit_usd, body.enabled], [7, 7, false]);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(!stored.includes(key.slice(-39)));
  },
});
