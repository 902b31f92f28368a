import assert from "node:assert/strict";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { changeAddress, expectAccessible } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";
import { call, openAt, rowsOf, statOf } from "./_money.ts";

/** Names that a person has given are shown: those of keys in costs, counters, refusals and alerts. */

const AT = "2026-11-01T11:30:00.000Z";
const keys: Record<string, { key: string; key_id: string }> = {};
const ids: Record<string, string> = {};

async function addKey({ purser }: TestDashboard, name: string, agentId: string | null = null) {
  const scopes = ["read" as const, "run" as const];
  keys[name] = await createKey(purser.core, { name, scopes, agentId, expiresAt: null });
}

async function addBudget({ purser }: TestDashboard, body: { name: string } & Record<string, unknown>) {
  const answer = await purser.api("POST", "/budgets", body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  ids[body.name] = answer.body.budget_id;
}

/** Sends a request with a key, as a program of its person does. */
async function send({ url }: TestDashboard, name: string, path: string, body: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${keys[name]!.key}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  await response.body?.cancel();
  return response.status;
}

async function sessionOf({ purser }: TestDashboard, agentId: string | null = null): Promise<string> {
  const name = `admin ${agentId ?? ""}`;
  const scopes = [agentId === null ? "admin" as const : "read" as const];
  const { key_id } = await createKey(purser.core, { name, scopes, agentId, expiresAt: null });
  return (await createWebSession(purser.core, { keyId: key_id, scopes, agentId })).token;
}

let session: string;

testDashboard("names", {}, {
  async "are given to keys, which then make calls"(dashboard) {
    for (const name of ["laptop", "phone"]) await addKey(dashboard, name);
    await addBudget(dashboard, { name: "People", limit_usd: 2, per: "day", each: "key", warn_at: [0.5] });
    await addBudget(dashboard, { name: "Everything", limit_usd: 100, per: "day" });
    assert.equal(await send(dashboard, "laptop", "/costs/events", [call("1", AT, "coder", 2)]), 201);
    assert.equal(await send(dashboard, "phone", "/costs/events", [call("2", AT, "coder", 0.5)]), 201);
    await dashboard.purser.api("PUT", "/agents/coder", { model: "demo:echo" });
    assert.equal(
      await send(dashboard, "laptop", "/agents/coder/runs", { input: "Hi", session_id: "ses_r" }),
      402,
    );
    session = await sessionOf(dashboard);
  },

  async "are shown in costs by key, in filters, and in stacks"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/costs?by=key&split=key", { session });
    const { page } = opened;
    const rows = await rowsOf(page, "Costs by key");
    assert.deepEqual(rows.map((row) => row.split(" | ")[0]), [
      `laptop${keys.laptop!.key_id}`,
      `phone${keys.phone!.key_id}`,
    ]);
    assert.deepEqual(await page.locator(".legend-name").allTextContents(), ["laptop", "phone"]);
    await page.getByRole("link", { name: "phone" }).first().click();
    await page.getByRole("link", { name: "Remove the filter Key phone" }).waitFor();
    assert.match(page.url(), new RegExp(`key_id=${keys.phone!.key_id}`));
  },

  async "are shown in all counters of a budget, each with what is used and left"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets", { session });
    const { page } = opened;
    const [people] = (await rowsOf(page, "Budgets")).filter((row) => row.startsWith("People"));
    assert.match(
      people!,
      /^People Reachedeach key, UTC daythe most: key laptop, all counters \| \$2\.00 of \$2\.00100%/,
    );
    await page.getByRole("link", { name: "all counters" }).click();
    await page.getByRole("heading", { name: "Budget: People" }).waitFor();
    assert.equal(await statOf(page, "Spent"), "$2.00 | the most, by key laptop");
    const counters = (await rowsOf(page, "Counters of the budget")).map((row) => row.replaceAll(/\s+/g, " "));
    assert.deepEqual(counters.slice(0, 2), [
      "key laptop Reached | $2.00 of $2.00100% | $0 | Raise",
      "key phone OK | $0.50 of $2.0025% | $1.50 | Raise",
    ]);
    await expectAccessible(page);
    await changeAddress(page, `/ui/budgets/${ids.Everything}`);
    await page.getByRole("heading", { name: "Budget: Everything" }).waitFor();
    await page.getByText("Its limit was never raised").waitFor();
    assert.equal(await page.getByRole("heading", { name: "Counters" }).count(), 0);
  },

  async "are shown in refusals with session and model, and in alerts"(dashboard) {
    await using opened = await openAt(dashboard, "/ui/budgets/refusals", { session });
    const { page } = opened;
    const [refusal] = await rowsOf(page, "Refused calls");
    assert.match(
      refusal!,
      /^.* \| coderkey laptop \| ses_r \| People, day: the limit is reachedmodel demo:echoMessage.* \| \$2\.00 \| \$2\.00$/,
    );
    await page.getByRole("link", { name: "Alerts", exact: true }).click();
    const alerts = await rowsOf(page, "Alerts");
    assert.ok(alerts.every((row) => row.includes("coderkey laptop")), alerts.join("\n"));
    await changeAddress(page, "/ui/");
    await page.getByText("refused").first().waitFor();
    const entries = await page.locator(".entries li").allTextContents();
    assert.ok(
      entries.some((text) => text.includes("by People: the limit is reached; demo:echo, key laptop")),
      entries.join("\n"),
    );
    assert.ok(entries.some((text) => text.includes("key laptop: $2.00 of")), entries.join("\n"));
  },

  async "that nothing has are marked, with the nearest one"(dashboard) {
    const { purser } = dashboard;
    await addBudget(dashboard, { name: "Typo", limit_usd: 1, per: "day", agent_id: "cod" });
    assert.equal((await purser.api("GET", `/budgets/${ids.Typo}`)).body.unknown.nearest, "coder");
    await using opened = await openAt(dashboard, "/ui/budgets", { session });
    await opened.page.getByText("Unknown agent").waitFor();
    await opened.page.getByText("did you mean coder?").waitFor();
    await changeAddress(opened.page, `/ui/budgets/${ids.Typo}`);
    await opened.page.getByRole("heading", { name: "Budget: Typo" }).waitFor();
    await opened.page.getByText("did you mean coder?").waitFor();
  },

  async "of others stay hidden from a key of one agent, which sees the state and never $0"(dashboard) {
    const { purser } = dashboard;
    assert.equal((await purser.api("PATCH", `/budgets/${ids.Everything}`, { limit_usd: 2.6 })).status, 200);
    const token = await sessionOf(dashboard, "reader");
    await using opened = await openAt(dashboard, "/ui/budgets", { session: token });
    const { page } = opened;
    const [everything] = (await rowsOf(page, "Budgets")).filter((row) => row.startsWith("Everything"));
    assert.match(everything!, /^Everything Near.* \| hidden of \$2\.60Near \|/);
    assert.match(everything!, /\| hidden \|/);
    assert.ok(!/\$0|no price|90%/.test(everything!), everything);
    await expectAccessible(page);
    await changeAddress(page, `/ui/budgets/${ids.Everything}`);
    await page.getByRole("heading", { name: "Budget: Everything" }).waitFor();
    assert.equal(await statOf(page, "Left"), "hidden");
    await changeAddress(page, "/ui/");
    assert.equal(await statOf(page, "Closest to its limit"), "Everything | Near; what is spent is hidden");
  },
});
