import assert from "node:assert/strict";
import { createKey, createSignInCode, createWebSession, revokeKey } from "../../src/keys/mod.ts";
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
    assert.deepEqual(await page.context().cookies(), []);
    const stored = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.match(stored, /"pws_[0-9a-f]{64}"/);
    assert.ok(!stored.includes(key) && !stored.includes(key.slice(-39)));
    await page.reload();
    await page.getByRole("heading", { name: "Costs" }).waitFor();
    await expectAccessible(page);
  },

  async "not with a wrong key, and says why"(dashboard) {
    await using opened = await dashboard.browser.open(`${dashboard.url}/ui/`);
    const { page } = opened;
    await page.getByRole("heading", SIGN_IN).waitFor();
    await page.getByLabel("API key").fill("psr_wrong");
    await page.getByLabel("API key").press("Enter");
    assert.match((await page.getByRole("alert").textContent())!, /cut off or mistyped/);
    assert.equal(await page.evaluate(() => localStorage.getItem("purser-session")), null);
    await expectAccessible(page);
  },

  async "until the person signs out, also in another page and for a copy of the token"(dashboard) {
    const { key } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    const { page } = opened;
    const token = await page.evaluate(() => localStorage.getItem("purser-session")!);
    await using second = await dashboard.browser.open(`${dashboard.url}/ui/keys`, {
      context: page.context(),
    });
    await second.page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", SIGN_IN).waitFor();
    await second.page.getByRole("heading", SIGN_IN).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem("purser-session")), null);
    const response = await fetch(`${dashboard.url}/costs/total`, { headers: { "purser-dashboard": token } });
    assert.equal(response.status, 401);
    await response.body?.cancel();
  },

  async "so that a server on another port of the host gets nothing of it, and changes nothing"(dashboard) {
    const { purser, browser, url } = dashboard;
    const { key, name } = await makeKey(dashboard);
    const theirs = await createKey(purser.core, {
      name: "Mallory",
      scopes: ["admin"],
      agentId: null,
      expiresAt: null,
    });
    const { token } = await createWebSession(purser.core, {
      keyId: theirs.key_id,
      scopes: ["admin"],
      agentId: null,
    });
    const got: string[] = [];
    // It sets and removes every cookie that a session could be in, of every path.
    const cookies = ["purser", "__Host-purser", "purser-session", "purser-dashboard"].flatMap((name) =>
      ["/", "/ui", "/ui/session"].flatMap((
        path,
      ) => [`${name}=${token}; Path=${path}`, `${name}=; Path=${path}; Max-Age=0`])
    );
    await using other = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      got.push(JSON.stringify([...request.headers]));
      const headers = new Headers({ "content-type": "text/html" });
      for (const cookie of cookies) headers.append("set-cookie", cookie);
      return new Response("<h1>Another port</h1>", { headers });
    });
    await using opened = await signIn(dashboard, key);
    const { page } = opened;
    const context = page.context();
    const own = await page.evaluate(() => localStorage.getItem("purser-session")!);
    await using evil = await browser.open(`http://127.0.0.1:${other.addr.port}/ui/session`, {
      context,
      leaves: true,
    });
    const outcomes = await evil.page.evaluate(async ({ url, token }) => {
      const stored = JSON.stringify({ ...localStorage, ...sessionStorage });
      document.cookie = `purser=${token}; path=/`;
      const json = { "content-type": "application/json" };
      const body = JSON.stringify({ name: "mine", scopes: ["admin"] });
      const attempts: [string, RequestInit][] = [
        ["/ui/session", {}],
        ["/ui/session", { method: "DELETE" }],
        ["/ui/session", { method: "DELETE", mode: "no-cors" }],
        ["/ui/session", { method: "DELETE", headers: { "purser-dashboard": token } }],
        ["/keys", { method: "POST", headers: json, body }],
        ["/keys", { method: "POST", mode: "no-cors", body }],
        ["/agents", { headers: { "purser-dashboard": token } }],
        ["/agents", { mode: "no-cors" }],
      ];
      const answers: string[] = [];
      for (const [path, init] of attempts) {
        answers.push(
          await fetch(url + path, { ...init, credentials: "include" })
            .then(
              async (response) => `${response.type} ${response.status} ${await response.text()}`,
              () => "blocked",
            ),
        );
      }
      return [stored, ...answers];
    }, { url, token });
    assert.equal(outcomes[0], "{}");
    for (const outcome of outcomes.slice(1)) assert.ok(["blocked", "opaque 0 "].includes(outcome), outcome);
    assert.ok(got.length > 0 && !got.some((headers) => headers.includes(own.slice(4))));
    const keys = (await purser.api("GET", "/keys?limit=1000")).body;
    assert.ok(!keys.some(({ name }: { name: string }) => name === "mine"));
    // The page continues as the same key, and so does a new page of the browser.
    await page.reload();
    assert.equal(await page.locator(".key-name").textContent(), name);
    await using second = await browser.open(`${url}/ui/costs`, { context });
    await second.page.getByText(name, { exact: true }).waitFor();
    await second.page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem("purser-session")), own);
  },

  async "until its key is revoked, while the page is open"(dashboard) {
    const { key, key_id } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key);
    await opened.page.getByText("Live", { exact: true }).waitFor();
    await revokeKey(dashboard.purser.core, key_id);
    await signedOut(dashboard, opened);
    await opened.page.getByText("its API key was revoked").waitFor();
  },

  async "as the key with which another page has signed in meanwhile, without a dialog of the one before"(
    dashboard,
  ) {
    const { key } = await makeKey(dashboard);
    await using opened = await signIn(dashboard, key, "/ui/budgets");
    const { page } = opened;
    await page.getByRole("button", { name: "Add budget" }).click();
    await page.getByRole("dialog").waitFor();
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
    assert.equal(await page.getByRole("dialog").count(), 0);
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
    assert.equal(await second.page.evaluate(() => localStorage.getItem("purser-session")), null);
  },
});
