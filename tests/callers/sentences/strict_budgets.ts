import assert from "node:assert/strict";
import { readCalls } from "../../gateway/requests.ts";
import { answerTo } from "../../harness/answers.ts";
import { makeKey } from "../../harness/http_client.ts";
import { type Caller, CALLERS } from "../callers.ts";
import {
  answerFor,
  audioAnswerFor,
  isElsewhere,
  makesCalls,
  overOneWire,
  type Sentence,
} from "../sentence.ts";
import {
  addBudget,
  API_OF,
  assertNothingReserved,
  assertRefused,
  MODEL,
  readRows,
  SCOPES,
  type World,
} from "../world.ts";

/** The promise of a strict budget, and what follows where a provider has counted more than its bound. */
export const STRICT_BUDGETS: readonly Sentence[] = [
  {
    says: "never exceeds a strict budget with two calls at once",
    async check(caller, openWorld) {
      await using world = await openWorld();
      // Room for the worst case of one: 2,000 tokens in and 100 out at most.
      await addBudget(world, { limit_usd: 0.003, mode: "strict" });
      const both = Promise.withResolvers<void>();
      for (let i = 0; i < 2; i++) {
        world.fake.enqueue({ ...answerFor(caller), after: both.promise });
      }
      setTimeout(both.resolve, 30);
      await callTwice(world, caller);
      const calls = await readCalls(world.purser);
      const spent = calls.reduce((sum, { cost }) => sum + cost!, 0n);
      assert.ok(spent <= 3_000_000n, `${spent}`);
      assert.equal(calls.length, world.fake.calls, "each that was made is booked");
      await assertNothingReserved(world);
    },
  },
  {
    says: "books in full a strict call that costs more than its bound, and logs budget.overshot",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      world.fake.enqueue(answerFor(caller, { inputTokens: 1_000_000, outputTokens: 100 }), answerFor(caller));
      await caller.call(world, { maxOutputTokens: 100 });
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [1_000_400_000n]);
      await assertOvershot(world, { unpriced: false });
    },
  },
  {
    says: "makes no further call of a run after one that has cost more than its bound",
    of: (caller) => (caller.kind === "run" || caller.kind === "meter") && overOneWire(caller),
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      const usage = { inputTokens: 1_000_000, outputTokens: 100 };
      const toolCall = { id: "c1", name: "calculator", input: { expression: "1+1" } };
      const asking = answerTo({ api: API_OF[caller.api], model: MODEL }, { toolCall, usage });
      world.fake.enqueue(asking, answerFor(caller));
      const outcome = await caller.call(world, { maxOutputTokens: 100, hasTool: true });
      assert.ok(!outcome.isOk && /cost more than its bound/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 1);
      await assertOvershot(world, { unpriced: false });
      await assertNothingReserved(world);
    },
  },
  {
    says:
      "stops a key under the strict budget that it has overshot, no other key, until an admin raises the budget",
    of: ({ kind }) => kind === "gateway",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const budgetId = await addBudget(world, { limit_usd: 5_000, mode: "strict" });
      const [key, other] = await Promise.all([
        makeKey(world.purser, ["call"]),
        makeKey(world.purser, ["call"]),
      ]);
      const limited = { maxOutputTokens: 100 };
      world.fake.enqueue(answerFor(caller, { inputTokens: 1_000_000, outputTokens: 100 }));
      await caller.call(world, { ...limited, key: key.key });
      // Its clients name sessions and agents themselves.
      const again = await caller.call(world, { ...limited, key: key.key, sessionId: "another" });
      assert.ok(!again.isOk && /cost more than its bound/.test(again.error), JSON.stringify(again));
      assert.equal(world.fake.calls, 1);
      await assertNothingReserved(world);
      await assertRefused(world, "overshot");
      world.fake.enqueue(answerFor(caller), answerFor(caller));
      assert.deepEqual(await caller.call(world, { ...limited, key: other.key }), { isOk: true });
      world.purser.clock.advance(1);
      await world.purser.api("POST", `/budgets/${budgetId}/raises`, { extra_usd: 1, reason: "known" });
      assert.deepEqual(await caller.call(world, { ...limited, key: key.key }), { isOk: true });
    },
  },
  {
    says: "lets a key that has overshot a strict budget make calls again in the next window",
    of: ({ kind, api }) => kind === "gateway" && api === "anthropic",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 5_000, mode: "strict" });
      world.fake.enqueue(answerFor(caller, { inputTokens: 1_000_000, outputTokens: 100 }), answerFor(caller));
      await caller.call(world, { maxOutputTokens: 100 });
      assert.equal((await caller.call(world, { maxOutputTokens: 100 })).isOk, false);
      world.purser.clock.advance(86_400_000);
      assert.deepEqual(await caller.call(world, { maxOutputTokens: 100 }), { isOk: true });
    },
  },
  {
    says: "logs budget.overshot, with the parts, of a strict call with a part that has no price",
    of: (caller) => makesCalls(caller) && overOneWire(caller),
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      world.fake.enqueue(audioAnswerFor(caller));
      await caller.call(world, { maxOutputTokens: 100 });
      await assertOvershot(world, { unpriced: true });
    },
  },
  {
    says: "counts a call that was made elsewhere in a strict budget, and makes none of its own then",
    of: isElsewhere,
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0.001, mode: "strict" });
      world.fake.enqueue(answerFor(caller), answerFor(caller));
      assert.deepEqual(await caller.call(world), { isOk: true });
      assert.deepEqual(await caller.call(world), { isOk: true }, "what was made elsewhere is never refused");
      for (
        const other of CALLERS.filter((each) => makesCalls(each) && overOneWire(each) && !each.isStreamed)
      ) {
        assert.equal((await other.call(world, { maxOutputTokens: 10 })).isOk, false, other.name);
      }
      assert.equal(world.fake.calls, 2);
      const { body } = await world.purser.api("GET", "/budgets/refusals");
      assert.match(JSON.stringify(body), /"spent"/);
    },
  },
];

/** Makes two calls at the same time, in a session each where runs need one. */
async function callTwice(world: World, caller: Caller): Promise<void> {
  const limited = { maxOutputTokens: 100 };
  await Promise.all([
    caller.call(world, limited),
    caller.call(world, { ...limited, sessionId: `${SCOPES.sessionId}b` }),
  ]);
}

async function assertOvershot(world: World, { unpriced }: { unpriced: boolean }): Promise<void> {
  const events = await readRows(world, "SELECT payload FROM events WHERE type = 'budget.overshot'");
  assert.equal(events.length, 1, "budget.overshot is logged once");
  assert.equal(/unpriced_parts/.test(String(events[0]![0])), unpriced);
}
