import assert from "node:assert/strict";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { expectAccessible, type TestPage } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";

/** The keys and the channels in the dashboard. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>";

const hook = Deno.serve(
  { port: 0, hostname: "127.0.0.1", onListen() {} },
  (request) => new Response(null, { status: new URL(request.url).pathname === "/broken" ? 500 : 204 }),
);
hook.unref();

/** Opens a page with a session of a new key. */
async function open(
  { purser, browser, url }: TestDashboard,
  path: string,
  scopes: ("read" | "admin")[] = ["admin"],
): Promise<TestPage> {
  const key = { name: `own ${scopes}`, scopes, agentId: null, models: null, expiresAt: null };
  const { key_id: keyId } = await createKey(purser.core, key);
  const { token } = await createWebSession(purser.core, { keyId, scopes, agentId: null });
  const opened = await browser.open(`${url}/ui/`);
  await opened.page.context().addCookies([
    { name: "purser", value: token, url, httpOnly: true, sameSite: "Strict" },
  ]);
  await opened.page.goto(`${url}/ui/keys${path}`);
  await opened.page.locator("main .card").first().waitFor();
  return opened;
}

const readKeys = async ({ purser }: TestDashboard) => (await purser.api("GET", "/keys")).body;

const row = ({ page }: TestPage, name: string) =>
  page.locator("tbody tr", { has: page.getByText(name, { exact: true }) });

const cells = async (opened: TestPage, name: string) => {
  await row(opened, name).waitFor();
  return await row(opened, name).locator("td").allTextContents();
};

testDashboard("the keys and channels in the dashboard", {}, {
  async "a key has its scopes, agent, models, expiry and spending"(dashboard) {
    const { core } = dashboard.purser;
    await createKey(core, {
      name: "ci",
      scopes: ["run", "call"],
      agentId: "researcher",
      models: ["claude-*"],
      expiresAt: core.clock.now() + 86_400_000,
    });
    await createKey(core, { name: HOSTILE, scopes: ["read"], agentId: null, models: null, expiresAt: null });
    await using opened = await open(dashboard, "");
    const [, status, scopes, agent, models, expires, used, signedIn, spent] = await cells(opened, "ci");
    assert.deepEqual(
      { status, scopes, agent, models, used, signedIn, spent },
      {
        status: "active",
        scopes: "run, call",
        agent: "researcher",
        models: "claude-*",
        used: "never",
        signedIn: "0",
        spent: "–",
      },
    );
    assert.notEqual(expires, "never");
    const own = await cells(opened, "own admin");
    assert.match(own[0]!, /^own admin\s*yours/);
    assert.equal(own[7], "1");
    await row(opened, "\\u202e<img src=x onerror=alert(1)>").waitFor();
    assert.equal(await opened.page.locator("img").count(), 0);
    const own3 = opened.requests.filter((request) => /GET \/(keys|costs)/.test(request));
    assert.deepEqual(own3, ["GET /keys?limit=100", "GET /costs?group_by=key&limit=1000"]);
  },

  async "a key is revoked, which is asked once and said"(dashboard) {
    await using opened = await open(dashboard, "");
    const { page } = opened;
    await row(opened, "ci").getByRole("button", { name: "Revoke" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    const statusOf = (list: { name: string; status: string }[]) =>
      list.find(({ name }) => name === "ci")?.status;
    assert.equal(statusOf(await readKeys(dashboard)), "active");
    await row(opened, "ci").getByRole("button", { name: "Revoke" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await page.locator(".toast", { hasText: "Revoked the key ci" }).waitFor();
    await row(opened, "ci").locator(".badge", { hasText: "revoked" }).waitFor();
    assert.equal(await row(opened, "ci").getByRole("button").count(), 0);
    assert.equal(statusOf(await readKeys(dashboard)), "revoked");
    await page.getByRole("link", { name: "Revoked", exact: true }).click();
    await page.waitForURL(/status=revoked/);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  },

  async "a key without admin sees no keys, and no buttons"(dashboard) {
    await using opened = await open(dashboard, "", ["read"]);
    await opened.page.getByText("Only a key with the scope admin lists the keys").waitFor();
    assert.deepEqual(opened.requests.filter((request) => request.startsWith("GET /keys")), []);
    await opened.page.getByRole("link", { name: "Channels", exact: true }).click();
    await opened.page.getByText("No channels yet").waitFor();
  },

  async "every page is accessible"(dashboard) {
    await using opened = await open(dashboard, "");
    for (const path of ["", "/channels"]) {
      await opened.page.goto(`${dashboard.url}/ui/keys${path}`);
      await opened.page.locator("main table, main .empty").first().waitFor();
      await expectAccessible(opened.page, path);
    }
  },
});
