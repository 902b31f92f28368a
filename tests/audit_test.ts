import assert from "node:assert/strict";
import { type AgentDefinition, defineAgent, removeAgent } from "../src/agents/mod.ts";
import { createRule } from "../src/alerts/mod.ts";
import { createBudget, raiseBudget, updateBudget } from "../src/budgets/mod.ts";
import { changeKey, createKey, createWebSession, revokeKey, rotateKey } from "../src/keys/mod.ts";
import { applyRepricing, undoRepricing } from "../src/calls/repricing/mod.ts";
import { listAudit } from "../src/service/audit/mod.ts";
import { recordPricesInUse } from "../src/service/price_updates.ts";
import { openCore } from "../src/service/mod.ts";
import { ConstraintError } from "../src/store/mod.ts";
import { createBooking } from "./harness/booking.ts";
import { dialectKinds } from "./harness/databases.ts";
import { testOver } from "./harness/store_tests.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** The audit log. That every verb of every authored resource has its entry is a sentence of tests/resources/. */

const DAY = { name: "Day", limit_usd: 50, per: "day" } as const;
const RULE = { name: "Rule", threshold_type: "per_day_usd", threshold_usd: 1, severity: "info" } as const;
const AUTHOR = { actor: "key", keyId: "key_1", name: "anna", address: "192.0.2.1" } as const;

for (const kind of dialectKinds()) {
  const test = testOver(kind);

  test("the audit log only grows", async (store) => {
    const ctx = { ...await createBooking(store), author: AUTHOR };
    await createBudget(ctx, DAY);
    const before = await listAudit(ctx, { limit: 10 });
    const attempts = [
      "UPDATE audit_entries SET actor = 'code'",
      "DELETE FROM audit_entries",
      ...store.engine === "postgres" ? ["TRUNCATE audit_entries"] : [
        `INSERT OR REPLACE INTO audit_entries (position, at, actor, action, kind, subject_id)
SELECT position, 0, 'code', 'created', 'budget', 'bud_2' FROM audit_entries`,
      ],
    ];
    for (const sql of attempts) await assert.rejects(store.write([{ sql }]), ConstraintError, sql);
    assert.deepEqual(await listAudit(ctx, { limit: 10 }), before);
  });

  test("an entry has who, when, from where, and the fields that differ", async (store) => {
    const ctx = { ...await createBooking(store), author: AUTHOR };
    const { budget_id } = await createBudget(ctx, DAY);
    await updateBudget(ctx, budget_id, { limit_usd: 80, mode: "strict" });
    const { raise_id } = await raiseBudget(ctx, budget_id, { extra_usd: 5, reason: "Release" });
    await updateBudget(ctx, budget_id, { enabled: false });
    const log = await listAudit(ctx, { subject: "Day", limit: 10 });
    assert.deepEqual(log.map(({ action }) => action), ["disabled", "raised", "changed", "created"]);
    const [disabled, raised, changed, created] = log;
    assert.deepEqual([disabled!.before, disabled!.after], [{ enabled: true }, { enabled: false }]);
    assert.deepEqual(raised!.after, {
      raise_id,
      extra_usd: 5,
      until: raised!.after!.until,
      reason: "Release",
    });
    const { position, at, before, after, ...rest } = changed!;
    assert.ok(position > created!.position && Date.parse(at) > 0);
    assert.deepEqual([before, after], [{ limit_usd: 50, mode: "stop" }, { limit_usd: 80, mode: "strict" }]);
    assert.deepEqual(rest, {
      ...{ actor: "key", key_id: "key_1", actor_name: "anna", address: "192.0.2.1", label: null },
      ...{ action: "changed", kind: "budget", subject_id: budget_id, subject_name: "Day" },
    });
    for (const by of ["key_1", "anna", "key"]) {
      assert.equal((await listAudit(ctx, { by, limit: 9 })).length, 4, by);
    }
    assert.deepEqual(await listAudit(ctx, { by: "code", limit: 9 }), []);
    assert.deepEqual(await listAudit(ctx, { kind: "rule", limit: 9 }), []);
    const next = await listAudit(ctx, { before: changed!.position, limit: 9 });
    assert.deepEqual(next.map(({ action }) => action), ["created"]);
  });

  test("neither a change nor its entry is committed without the other", async (store) => {
    const ctx = { ...await createBooking(store), author: AUTHOR };
    await assert.rejects(
      createBudget(ctx, DAY, () => [{ sql: "INSERT INTO tallies (what) VALUES (NULL)" }]),
      ConstraintError,
    );
    const broken = { ...ctx, author: { actor: null as never } };
    await assert.rejects(createRule(broken, RULE), ConstraintError);
    const counts = await store.read({
      sql:
        "SELECT (SELECT count(*) FROM budgets) + (SELECT count(*) FROM alert_rules) + count(*) FROM audit_entries",
    });
    assert.equal(counts.rows[0]![0], 0n);
  });
}

Deno.test("no entry has the secret of a key or its hash, and a taken name leaves none", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const input = { name: "anna", scopes: ["call"], agentId: null, expiresAt: null } as const;
  const { key_id, key } = await createKey(core, input);
  await assert.rejects(createKey(core, input), /has the name/);
  await changeKey(core, key_id, { stopBeforeCredits: true });
  const rotated = await rotateKey(core, key_id);
  await revokeKey(core, key_id);
  await revokeKey(core, key_id);
  const log = await listAudit(core, { limit: 10 });
  assert.deepEqual(log.map(({ action }) => action), ["revoked", "rotated", "changed", "created"]);
  const text = JSON.stringify(log);
  const { rows } = await core.store.read({ sql: "SELECT hash, previous_hash FROM api_keys" });
  for (const secret of [key, rotated.key, ...rows[0] as string[]]) assert.ok(!text.includes(secret));
});

Deno.test("a request has its key as author, one of the dashboard its session, and what code defines is the code's", async () => {
  await using purser = await openTestPurser();
  const { core, app } = purser;
  const principal = { keyId: "key_9", name: "anna", scopes: ["admin" as const], agentId: null };
  const { principal: session } = await createWebSession(core, principal).catch(() => ({
    principal: { ...principal, webSession: "x" },
  }));
  const post = async (bindings: object) => {
    const body = JSON.stringify(RULE);
    const request = new Request("http://h/alerts/rules", {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    assert.equal((await app.fetch(request, bindings)).status, 201);
  };
  await post({ principal, from: "192.0.2.1" });
  await post({ principal: session, from: "192.0.2.2" });
  await post({ isKeyless: true, from: "127.0.0.1" });
  await post({});
  const log = (await purser.api("GET", "/audit")).body;
  assert.deepEqual(
    log.map((entry: Record<string, string>) => [entry.actor, entry.actor_name, entry.address]),
    [
      ["code", null, null],
      ["anonymous", null, "127.0.0.1"],
      ["session", "anna", "192.0.2.2"],
      ["key", "anna", "192.0.2.1"],
    ],
  );
});

Deno.test("a program that is started again with the same rules and budgets adds no entry", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const open = () =>
      openCore({
        config: { dbUrl: `${folder}/a.db` },
        alerts: { rules: [RULE], dispatcher: { channels: [] } },
        budgets: [DAY],
      });
    const first = await open();
    const log = await listAudit(first, { limit: 10 });
    assert.ok(log.every(({ actor }) => actor === "code"));
    assert.deepEqual(log.map(({ kind, action }) => `${kind} ${action}`), [
      "budget created",
      "rule enabled",
      "rule created",
    ]);
    await first.close();
    const second = await open();
    assert.deepEqual(await listAudit(second, { limit: 10 }), log);
    await second.close();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a repricing and its undoing are in the audit log, and a dry run is not", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  await core.prices.ready();
  await core.store.write([{
    sql:
      `INSERT INTO calls (call_id, at, agent_id, tools, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, total_tokens, unpriced, price_source, is_estimated)
VALUES ('c', ?, 'a', '[]', 'openai', 'gpt-6-luna', 1000, 0, 0, 0, 0, 0, 1000, 1, 'none', 0)`,
    args: [core.clock.now()],
  }]);
  await purser.api("POST", "/repricings", { unpriced: true, apply: false });
  assert.deepEqual(await listAudit(core, { limit: 10 }), []);
  const { repricing_id } = await applyRepricing(core, { unpriced: true });
  await undoRepricing(core, repricing_id!);
  await undoRepricing(core, repricing_id!);
  const log = await listAudit(core, { kind: "repricing", limit: 10 });
  assert.deepEqual(log.map(({ action, subject_id }) => [action, subject_id]), [
    ["undone", repricing_id],
    ["applied", repricing_id],
  ]);
});

Deno.test("a long prompt is cut, an unchanged agent has no entry, and one that is not there is not removed", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const agent: AgentDefinition = {
    agentId: "a",
    model: "demo:echo",
    costBudgetNanoUsd: null,
    budgetMode: "stop",
    allowUnpriced: false,
    maxSteps: 3,
    maxOutputTokens: null,
    tools: [],
    systemPrompt: "x".repeat(100_000),
  };
  await defineAgent(core, agent);
  await defineAgent(core, agent);
  await assert.rejects(removeAgent(core, "b"), /Cannot find/);
  const [entry, ...others] = await listAudit(core, { limit: 10 });
  assert.deepEqual(others, []);
  assert.match(entry!.after!.system_prompt as string, /^x{2000}… \(100000 characters\)$/);
});

Deno.test("the prices that a server bills by are in the audit log once, and again after they have changed", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  await recordPricesInUse(core);
  await recordPricesInUse(core);
  const inUse = await core.prices.inUse();
  const overrides = [...inUse.overrides, { ...inUse.overrides[0]!, model: "other" }];
  const changed = { ...core.prices, inUse: () => Promise.resolve({ ...inUse, overrides }) };
  await recordPricesInUse({ ...core, prices: changed });
  const log = await listAudit(core, { kind: "prices", limit: 10 });
  assert.deepEqual(log.map(({ actor, action }) => [actor, action]), [["code", "changed"], [
    "code",
    "changed",
  ]]);
  assert.ok((log[0]!.after!.overrides as string[]).some((model) => model.endsWith(":other")));
});

Deno.test("the audit log needs the scope admin, and is a list as others: pages, and CSV", async () => {
  await using purser = await openTestPurser();
  for (let count = 0; count < 3; count++) await createRule(purser.core, { ...RULE, name: `Rule ${count}` });
  const { body, headers } = await purser.api("GET", "/audit?limit=2");
  assert.equal(body.length, 2);
  const next = /<([^>]*)>; rel="next"/.exec(headers.get("link")!)![1]!;
  assert.deepEqual(
    (await purser.api("GET", next)).body.map((entry: { subject_name: string }) => entry.subject_name),
    [
      "Rule 0",
    ],
  );
  const csv = await purser.api("GET", "/audit", undefined, { accept: "text/csv" });
  assert.match(String(csv.body), /^position,at,actor,/);
  assert.deepEqual((await purser.api("GET", "/audit?from=2099-01-01")).body, []);
  const principal = { keyId: "key_1", scopes: ["read" as const], agentId: null };
  assert.equal((await purser.app.fetch(new Request("http://h/audit"), { principal })).status, 403);
});
