import assert from "node:assert/strict";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { changeAddress, expectAccessible, type TestPage } from "../harness/browser.ts";
import { replaceChannels } from "../harness/fake_channels.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";

/** The keys and the channels in the dashboard. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>";

/** Opens a page with a session of a new key. */
let keys = 0;

/** Opens a page with a session of a new key, such as `own admin 1`. */
async function open(
  { purser, browser, url }: TestDashboard,
  path: string,
  scopes: ("read" | "admin")[] = ["admin"],
): Promise<TestPage> {
  const key = {
    name: `own ${scopes} ${++keys}`,
    scopes,
    agentId: null,
    models: null,
    expiresAt: null,
  };
  const { key_id: keyId } = await createKey(purser.core, key);
  const { token } = await createWebSession(purser.core, { keyId, scopes, agentId: null });
  const opened = await browser.open(`${url}/ui/keys${path}`, { session: token });
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
      tags: { user: "anna", customer: "a&b=c" },
    });
    await createKey(core, { name: HOSTILE, scopes: ["read"], agentId: null, models: null, expiresAt: null });
    await using opened = await open(dashboard, "");
    const [, status, scopes, expires, used, spent] = await cells(opened, "ci");
    assert.deepEqual(
      { status, scopes, used, spent },
      {
        status: "active",
        scopes: "run, callagent researchermodels claude-*",
        used: "never",
        spent: "–",
      },
    );
    assert.notEqual(expires, "never");
    const own = await cells(opened, `own admin ${keys}`);
    assert.match(own[0]!, /^own admin \d+\s*yours/);
    assert.match(own[4]!, /1 browser signed in$/);
    await row(opened, "\\u202e<img src=x onerror=alert(1)>").waitFor();
    assert.equal(await opened.page.locator("img").count(), 0);
    const links = row(opened, "ci").locator("td").first().locator("a");
    assert.deepEqual(await links.allTextContents(), ["customer=a&b=c", "user=anna", "Changes"]);
    const targets = await Promise.all((await links.all()).map((link) => link.getAttribute("href")));
    assert.deepEqual(targets, [
      "/ui/costs?tag=customer%3Aa%26b%3Dc&span=all",
      "/ui/costs?tag=user%3Aanna&span=all",
      `/ui/keys/audit?subject=${
        (await readKeys(dashboard)).find((key: { name: string }) => key.name === "ci").key_id
      }`,
    ]);
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

  async "another key gets a new secret, which is shown once; one's own would end the session"(dashboard) {
    const { core } = dashboard.purser;
    const made = { scopes: ["admin" as const], agentId: null, expiresAt: null };
    const { key } = await createKey(core, { ...made, name: "chief" });
    const { key: old } = await createKey(core, { ...made, scopes: ["read"] as never, name: "leaked" });
    await using opened = await open(dashboard, "");
    const { page } = opened;
    assert.equal(
      await row(opened, `own admin ${keys}`).getByRole("button", { name: "New secret" }).count(),
      0,
    );
    await row(opened, "leaked").getByRole("button", { name: "New secret" }).click();
    const dialog = page.getByRole("dialog", { name: "New secret" });
    await dialog.getByLabel("Hours").fill("24");
    assert.equal(
      await dialog.locator(".as-command pre").textContent(),
      "purser keys rotate leaked --grace 24h",
    );
    await dialog.getByLabel("Your API key").fill(key);
    await dialog.getByRole("button", { name: "New secret" }).click();
    const secret = await dialog.getByRole("region", { name: "The new key" }).textContent();
    assert.ok(secret!.startsWith(old.slice(0, "psr_0026_".length)) && secret !== old, secret!);
    const until = (await readKeys(dashboard)).find(({ name }: { name: string }) => name === "leaked");
    assert.equal(Date.parse(until.previous_valid_until), core.clock.now() + 24 * 3_600_000);
    await dialog.getByRole("button", { name: "Close" }).click();
  },

  async "the audit log has who, from where and what, is filtered by the URL, and is an admin's alone"(
    dashboard,
  ) {
    const { purser } = dashboard;
    const { budget_id } =
      (await purser.api("POST", "/budgets", { name: "Day", limit_usd: 50, per: "day" })).body;
    await using opened = await open(dashboard, "");
    const { page } = opened;
    await changeAddress(page, `/ui/budgets/${budget_id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Limit in USD").fill("80");
    await dialog.getByRole("button", { name: "Edit" }).click();
    await page.locator(".toast").waitFor();
    await page.getByRole("link", { name: "Changes" }).click();
    await page.waitForURL(/keys\/audit\?subject=bud_/);
    const changed = page.locator("tbody tr", { hasText: "limit_usd 50 → 80" });
    await changed.waitFor();
    const [at, by, action, of] = await changed.locator("td").allTextContents();
    assert.match(at!, / UTC$/);
    assert.match(by!, /^own admin \d+dashboard, from 127\.0\.0\.1$/);
    assert.deepEqual([action, of], ["changed", "budget Day"]);
    await page.locator("tbody tr", { hasText: "created" }).getByText(/fields$/).click();
    await page.getByText('name "Day"').waitFor();
    await page.getByLabel("Changed").fill("leaked");
    await page.locator("tbody tr", { hasText: "rotated" }).waitFor();
    await page.getByLabel("Kind").selectOption("budget");
    await page.getByText("No such change").waitFor();
    await expectAccessible(page, "audit");
    await using reader = await open(dashboard, "/audit", ["read"]);
    assert.equal(await reader.page.getByRole("link", { name: "Audit log" }).count(), 0);
    assert.deepEqual(reader.requests.filter((request) => request.includes("/audit")), ["GET /ui/keys/audit"]);
  },

  async "a key without admin sees no keys, and no buttons"(dashboard) {
    await using opened = await open(dashboard, "", ["read"]);
    await opened.page.getByText("Only a key with the scope admin lists the keys").waitFor();
    assert.deepEqual(opened.requests.filter((request) => request.startsWith("GET /keys")), []);
    await opened.page.getByRole("link", { name: "Channels", exact: true }).click();
    await row(opened, "log").first().waitFor();
    assert.equal(await opened.page.getByRole("button", { name: "Send a test" }).count(), 0);
  },

  async "channels have their state, a test, and their last failures"(dashboard) {
    const { core } = dashboard.purser;
    replaceChannels(core, { pager: "ok", ops: { reason: `HTTP 503: ${HOSTILE}` } });
    const at = core.clock.now();
    await core.store.write([
      {
        sql: `INSERT INTO alerts (alert_id, rule_id, rule_name, threshold_type, threshold_nano_usd, severity,
          value_nano_usd, agent_id, session_id, run_id, window, window_start, triggered_at)
          VALUES ('alert_1', 'rule_1', 'Daily', 'per_day_usd', 10000000000, 'critical', 10250000001, 'a', 's', 'r', 'w', ?1, ?1)`,
        args: [at],
      },
      {
        sql:
          `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, status, attempts, due_at, last_error,
          created_at, settled_at) VALUES ('dlv_1', 'alert_1', 'pager', 'custom', 'delivered', 1, 0, NULL, 0, ?1),
          ('dlv_2', 'alert_1', 'ops', 'custom', 'failed', 7, 0, ?2, 0, ?1)`,
        args: [at, `HTTP 503: ${HOSTILE}`],
      },
    ]);
    await using opened = await open(dashboard, "/channels");
    const { page } = opened;
    const failure = page.getByRole("region", { name: "Deliveries that failed" }).locator("tbody tr");
    await failure.waitFor();
    assert.deepEqual((await failure.locator("td").allTextContents()).slice(1), [
      "Daily",
      "ops",
      "failed",
      "7",
      "HTTP 503: \\u202e<img src=x onerror=alert(1)>",
    ]);
    assert.equal(await failure.getByRole("link").getAttribute("href"), "/ui/budgets/alerts/alert_1");
    const channels = page.getByRole("region", { name: "Channels", exact: true });
    const channel = (name: string) =>
      channels.locator("tbody tr", { has: page.getByText(name, { exact: true }) });
    assert.match(await channel("pager").textContent() ?? "", /ready.*critical/);
    await channel("pager").getByRole("button", { name: "Send a test" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send a test" }).click();
    await page.locator(".toast", { hasText: /^Sent a test through pager in \d+ ms$/ }).waitFor();
    await channel("ops").getByRole("button", { name: "Send a test" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send a test" }).click();
    assert.match(
      await page.locator(".field-error").textContent() ?? "",
      /^HTTP 503: {2}<img src=x onerror=alert\(1\)>$/,
    );
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    const own = opened.requests.filter((request) => /^GET \/(channels|alerts)/.test(request));
    assert.deepEqual(new Set(own), new Set(["GET /channels", "GET /alerts/history?limit=100"]));
  },

  async "every page is accessible"(dashboard) {
    await using opened = await open(dashboard, "");
    for (const path of ["", "/channels"]) {
      await changeAddress(opened.page, `/ui/keys${path}`);
      await opened.page.locator("main table, main .empty").first().waitFor();
      await expectAccessible(opened.page, path);
    }
  },
});
