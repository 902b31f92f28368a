import assert from "node:assert/strict";
import { SUBJECTS } from "../../../src/contract/budgets/subjects.ts";
import { makeKey } from "../../harness/http_client.ts";
import { until } from "../../harness/deliveries.ts";
import { toUsd } from "../../../src/kernel/money.ts";
import { answerFor, COST, makesCalls, overOneWire, type Sentence } from "../sentence.ts";
import {
  addBudget,
  assertNothingReserved,
  assertRefused,
  MODEL,
  pricesOf,
  readRows,
  SCOPES,
} from "../world.ts";

/** The reasons for which budgets refuse a call; `overshot` is among the strict budgets. */
export const REFUSALS: readonly Sentence[] = [
  {
    says: "refuses a call over a budget that is spent, sends nothing, and logs the refusal with its model",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0 });
      const outcome = await caller.call(world);
      assert.ok(!outcome.isOk && /Day/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, "spent");
    },
  },
  {
    says:
      "refuses a call over a budget of its model, provider and source that the call before has reached exactly",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const budget = {
        limit_usd: toUsd(COST),
        model: "pri*",
        provider: caller.provider,
        source: caller.kind,
      };
      await addBudget(world, budget);
      await addBudget(world, { limit_usd: 0, model: "pri*", provider: "another" });
      await addBudget(world, { limit_usd: 0, tags: { customer: "acme" } });
      world.fake.enqueue(answerFor(caller));
      assert.deepEqual(await caller.call(world), { isOk: true });
      const outcome = await caller.call(world, { sessionId: `${SCOPES.sessionId}b` });
      assert.ok(!outcome.isOk && /model pri\*, provider /.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 1);
      await assertRefused(world, "spent");
      await assertNothingReserved(world);
    },
  },
  {
    says:
      "refuses a call over a budget of any subject of it, and is counted by each of them, and by rules of each",
    of: (caller) => makesCalls(caller) && overOneWire(caller),
    async check(caller, openWorld) {
      await using world = await openWorld();
      const tags = { customer: "acme" };
      const by = { tags, ...await makeKey(world.purser, ["call"]) };
      const named = {
        agent: { agent_id: SCOPES.agentId },
        session: { session_id: SCOPES.sessionId },
        key: { key_id: by.keyId },
        model: { model: MODEL },
        provider: { provider: caller.provider },
        source: { source: caller.kind },
      } satisfies Record<typeof SUBJECTS[number], object>;
      // A metered model is called by a program, without a key.
      const kinds = SUBJECTS.filter((kind) => kind !== "key" || caller.kind !== "meter");
      const subjects: Record<string, unknown>[] = [
        ...kinds.map((kind) => named[kind]),
        { tags },
        { billing: "billed" },
        { model: `${caller.provider}:pri*` },
        { agent_id: SCOPES.agentId, tags, model: "pri*", provider: caller.provider, billing: "billed" },
      ];
      const each = [...kinds, "tag:customer"];
      for (const subject of subjects) {
        const id = await addBudget(world, { limit_usd: 0, ...subject });
        const outcome = await caller.call(world, by);
        assert.ok(!outcome.isOk && /Day/.test(outcome.error), JSON.stringify([subject, outcome]));
        await world.purser.api("DELETE", `/budgets/${id}`);
      }
      assert.equal(world.fake.calls, 0);
      const counting = [];
      for (const subject of [...subjects, ...each.map((kind) => ({ each: kind }))]) {
        counting.push(await addBudget(world, { limit_usd: 1, ...subject }));
        const rule = {
          name: "Rule",
          threshold_type: "per_day_usd",
          threshold_usd: toUsd(COST),
          severity: "info",
        };
        const { status } = await world.purser.api("POST", "/alerts/rules", { ...rule, ...subject });
        assert.equal(status, 201);
      }
      world.fake.enqueue(answerFor(caller));
      assert.deepEqual(await caller.call(world, by), { isOk: true });
      for (const [index, id] of counting.entries()) {
        const { body } = await world.purser.api("GET", `/budgets/${id}`);
        // One that names the value takes the place of one of each.
        const isNamed = index >= subjects.length;
        assert.equal(body.spent_usd, isNamed ? 0 : toUsd(COST), JSON.stringify(body));
      }
      const { body: fired } = await world.purser.api("GET", "/alerts/history");
      assert.equal(fired.length, subjects.length);
      await assertNothingReserved(world);
    },
  },
  {
    says: "refuses a call of a tree that the call before has spent, and none of another tree",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: toUsd(COST), per: "tree" });
      world.fake.enqueue(answerFor(caller), answerFor(caller));
      assert.deepEqual(await caller.call(world), { isOk: true });
      const outcome = await caller.call(world);
      assert.ok(!outcome.isOk && outcome.error.includes(`tree ${SCOPES.sessionId}`), JSON.stringify(outcome));
      assert.deepEqual(await caller.call(world, { sessionId: `${SCOPES.sessionId}b` }), { isOk: true });
      await assertRefused(world, "spent");
      await assertNothingReserved(world);
    },
  },
  {
    says: "refuses a call without a price under a budget, and names the model",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const outcome = await caller.call(world, { model: "unheard-of" });
      assert.ok(!outcome.isOk && /unheard-of/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, "unpriced", "unheard-of");
    },
  },
  {
    says: "refuses a call whose worst case does not fit into a strict budget",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0.0001, mode: "strict" });
      const outcome = await caller.call(world, { maxOutputTokens: 1_000 });
      assert.ok(!outcome.isOk);
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, "would_overshoot");
    },
  },
  {
    says: "refuses a call that has no bound under a strict budget, and says why",
    async check(caller, openWorld) {
      const model = "x-deep-research";
      await using world = await openWorld({ config: { prices: pricesOf(model) } });
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      const outcome = await caller.call(world, { model, maxOutputTokens: 100 });
      assert.ok(!outcome.isOk && /searches the web by itself/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, "unbounded", model);
      await assertNothingReserved(world);
    },
  },
  {
    says: "refuses a call after 30 s for which another call holds the budget",
    of: (caller) => makesCalls(caller) && overOneWire(caller),
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0.0002 });
      const rest = Promise.withResolvers<void>();
      world.fake.enqueue({ ...answerFor(caller), after: rest.promise });
      const first = caller.call(world);
      await until(() => world.fake.calls === 1);
      const second = caller.call(world, { sessionId: `${SCOPES.sessionId}b` });
      let waitedMs = 0;
      await until(async () => {
        // It begins, and takes its next look at the budget, in a later turn of the event loop.
        if (waitedMs < 300_000) world.purser.clock.advance(500);
        waitedMs += 500;
        return (await readRows(world, "SELECT 1 FROM events WHERE type = 'budget.refused'")).length > 0;
      });
      assert.equal((await second).isOk, false);
      assert.equal(world.fake.calls, 1);
      await assertRefused(world, "held");
      rest.resolve();
      assert.deepEqual(await first, { isOk: true });
      await assertNothingReserved(world);
    },
  },
];
