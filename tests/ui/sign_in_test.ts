import assert from "node:assert/strict";
import { createKey, createSignInCode, revokeKey } from "../../src/keys/mod.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/clock.ts";
import { expectAccessible, type TestPage } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";

/** Signing in to the dashboard in a real browser. */

let keys = 0;

/** Creates a key of a name of its own: `Ada 1`, `Ada 2`, … */
async function makeKey({ purser }: TestDashboard, { scopes = ["admin"], expiresAt = null }: {
  scopes?: ("admin" | "read" | "call")[];
  expiresAt?: number | null;
} = {}) {
  return await createKey(purser.core, { name: `Ada ${++keys}`, scopes, agentId: null, expiresAt });
}

async function signIn(dashboard: TestDashboard, key: string, path = "/ui/costs") {
  const opened = await dashboard.browser.open(dashboard.url + path);
  await opened.page.getByLabel("API key").fill(key);
  await opened.page.getByRole("button", { name: "Sign in" }).click();
  await opened.page.getByRole("button", { name: "Sign out" }).waitFor();
  return opened;
}

const SIGN_IN = { name: "Sign in to Purser" };

/** Waits until an open page asks for a key by itself, while the time of the server passes. */
async function signedOut({ purser }: TestDashboard, { page }: TestPage): Promise<void> {
  const heading = page.getByRole("heading", SIGN_IN);
  for (let round = 0; !await heading.isVisible(); round++) {
    assert.ok(round < 5_000, "the page still shows its figures");
    purser.clock.advance(1_000);
  }
}

testDashboard("the dashboard signs in", {}, {
  async "without a key, this machine needs none"({ browser, url }) {
    await using opened = await browser.open(`${url}/ui/`);
    await opened.page.getByRole("heading", { name: "Now", exact: true }).waitFor();
    assert.equal(await opened.page.getByRole("button", { name: "Sign out" }).count(), 0);
    await expectAccessible(opened.page);
  },

  async "with a key, which the browser does not keep, and stays at the page that was requested"(dashboard) {
    const { key, name } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    const { page } = opened;
    await page.getByRole("heading", { name: "Costs" }).waitFor();
    assert.equal(await page.locator(".key-name").textContent(), name);
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [cookie!.name, cookie!.httpOnly, cookie!.sameSite, cookie!.secure],
      ["purser", true, "Strict", false],
    );
    assert.ok(!key.includes(cookie!.value) && !cookie!.value.includes(key));
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(!stored.includes(key));
    await page.reload();
    await page.getByRole("heading", { name: "Costs" }).waitFor();
    await expectAccessible(page);
  },

  async "with a key that can't read, and says which scope the home page needs"(dashboard) {
    const { key } = await makeKey(dashboard, { scopes: ["call"] });
    await using opened = await signIn(dashboard, key, "/ui/");
    const { page } = opened;
    await page.getByRole("main").getByText("lacks the scope read").waitFor();
    await page.getByText("Not live").waitFor();
    assert.equal(await page.locator(".skeleton").count(), 0);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("main").getByText("lacks the scope read").waitFor();
    assert.deepEqual(opened.requests.filter((request) => request.endsWith("/live")).length, 2);
  },

  async "not with a wrong key, and says why"(dashboard) {
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/`);
    const { page } = opened;
    await page.getByRole("heading", SIGN_IN).waitFor();
    await page.getByLabel("API key").fill("psr_wrong");
    await page.getByLabel("API key").press("Enter");
    assert.match((await page.getByRole("alert").textContent())!, /cut off or mistyped/);
    assert.deepEqual(await page.context().cookies(), []);
    await expectAccessible(page);
  },

  async "until the person signs out, also for a copy of the cookie"(dashboard) {
    const { key } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    const [cookie] = await opened.page.context().cookies();
    await opened.page.getByRole("button", { name: "Sign out" }).click();
    await opened.page.getByRole("heading", SIGN_IN).waitFor();
    assert.deepEqual(await opened.page.context().cookies(), []);
    const headers = { cookie: `purser=${cookie!.value}`, "sec-fetch-site": "same-origin" };
    const response = await fetch(`${dashboard.url}/costs/total`, { headers });
    assert.equal(response.status, 401);
    await response.body?.cancel();
  },

  async "until its key is revoked, while the page is open"(dashboard) {
    const { key, key_id } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    await opened.page.getByText("Live", { exact: true }).waitFor();
    await revokeKey(dashboard.purser.core, key_id);
    await signedOut(dashboard, opened);
    await opened.page.getByText("its API key was revoked").waitFor();
  },

  async "as the key with which another page has signed in meanwhile"(dashboard) {
    const { key } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    const { page } = opened;
    const other = { name: "Bob", scopes: ["read" as const], agentId: "helper", expiresAt: null };
    const { key_id } = await createKey(dashboard.purser.core, other);
    const { code } = await createSignInCode(dashboard.purser.core, key_id);
    const context = page.context();
    await using second = await dashboard.browser.open(`${dashboard.url}/ui/#code=${code}`, { context });
    // The link may come from anybody.
    await second.page.getByRole("heading", { name: "Sign in as Bob?" }).waitFor();
    await second.page.getByText(/You are signed in with the key Ada \d+\./).waitFor();
    await expectAccessible(second.page);
    await second.page.getByRole("button", { name: "Stay signed in" }).click();
    await second.page.locator(".key-name", { hasText: "Ada" }).waitFor();
    await second.page.goto(`${dashboard.url}/ui/costs#code=${code}`);
    await second.page.getByRole("button", { name: "Switch the key" }).click();
    await second.page.getByText("agent helper only").waitFor();
    await second.page.getByRole("heading", { name: "Costs" }).waitFor();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.getByText("agent helper only").waitFor();
    assert.equal(await page.locator(".key-name").textContent(), "Bob");
  },

  async "for 12 hours without use"(dashboard) {
    const { key } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    dashboard.purser.clock.advance(12 * HOUR_MS - 1);
    await opened.page.reload();
    await opened.page.getByRole("button", { name: "Sign out" }).waitFor();
    dashboard.purser.clock.advance(12 * HOUR_MS);
    await opened.page.reload();
    await opened.page.getByRole("heading", SIGN_IN).waitFor();
  },

  async "no longer than its key is valid, while the page is open"(dashboard) {
    const { clock } = dashboard.purser;
    const { key } = await makeKey(dashboard, { expiresAt: clock.now() + DAY_MS / 24 });
    await using opened = await signIn(dashboard, key);
    await opened.page.getByText("Live", { exact: true }).waitFor();
    clock.advance(HOUR_MS);
    await signedOut(dashboard, opened);
  },

  async "by a one-time code of the fragment, which works once"(dashboard) {
    const { key_id } = await makeKey(dashboard);
    const { code } = await createSignInCode(dashboard.purser.core, key_id);
    const link = `${dashboard.url}/ui/sessions#code=${code}`;
    await using first = await dashboard.browser.open(link);
    await first.page.getByRole("button", { name: "Sign out" }).waitFor();
    assert.equal(first.page.url(), `${dashboard.url}/ui/sessions`);
    assert.ok(!first.requests.some((request) => request.includes(code)));
    await using second = await dashboard.browser.open(link);
    await second.page.getByText("it works once, within a minute").waitFor();
    assert.deepEqual(await second.page.context().cookies(), []);
  },
});
