import assert from "node:assert/strict";
import { readCalls } from "../gateway/requests.ts";
import { answerTo } from "../harness/answers.ts";
import { makeKey } from "../harness/http_client.ts";
import { API_OF, type Caller, MODEL, openWorld, PRICES, SCOPES, type World } from "./callers.ts";

/** A sentence that holds for every caller, or for those for which it can be said. */
export interface Sentence {
  says: string;
  /** Default: all. */
  of?(caller: Caller): boolean;
  check(caller: Caller): Promise<void>;
}

/** 1,000 tokens in and 100 out: $0.001 and $0.0004. */
const USAGE = { inputTokens: 1_000, outputTokens: 100 };
const COST = 1_400_000n;

/** The reply to a caller's call. */
const answerFor = ({ api }: Caller, usage: object = USAGE) =>
  answerTo({ api: API_OF[api], model: MODEL }, { text: "Hello", usage });

const isStreamed = ({ isStreamed }: Caller) => isStreamed;

/** Reads what the database has of calls, reservations and events. */
async function rows({ purser }: World, sql: string): Promise<unknown[][]> {
  return (await purser.core.store.read({ sql })).rows;
}

async function assertNothingReserved(world: World): Promise<void> {
  assert.deepEqual(
    await rows(world, "SELECT * FROM reservations WHERE estimate_nano_usd > 0 OR worst_nano_usd > 0"),
    [],
    "nothing stays reserved",
  );
}

async function addBudget({ purser }: World, budget: Record<string, unknown>): Promise<string> {
  const { status, body } = await purser.api("POST", "/budgets", { name: "Day", per: "day", ...budget });
  assert.equal(status, 201, JSON.stringify(body));
  return body.budget_id;
}

const warnings = ({ purser }: World, message: RegExp) =>
  purser.logs.filter((line) => line.level === "warn" && message.test(line.message));

const ESTIMATE = /booked as an estimate/;

export const SENTENCES: readonly Sentence[] = [
  {
    says: "books a call once, with each field of its row",
    async check(caller) {
      await using world = await openWorld();
      world.fake.enqueue(answerFor(caller));
      assert.deepEqual(await caller.call(world), { isOk: true });
      const [row, ...more] = await rows(
        world,
        `SELECT agent_id, session_id, run_id IS NOT NULL, step, key_id, source, tools, provider, model, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens, cost_nano_usd, unpriced,
  partly_priced, price_source, price_id IS NOT NULL, response_id IS NOT NULL, is_estimated, adjusts, at FROM calls`,
      );
      const ofRun = caller.kind === "gateway" ? [0n, null] : [1n, 1n];
      assert.deepEqual(row, [
        ...[SCOPES.agentId, SCOPES.sessionId, ...ofRun, null, caller.kind, "[]", caller.provider, MODEL],
        ...[1_000n, 100n, 0n, 0n, 0n, 1_100n, COST, 0n, 0n, "config", 1n],
        ...[1n, 0n, null, BigInt(world.purser.clock.now())],
      ]);
      assert.deepEqual(more, []);
      await assertNothingReserved(world);
    },
  },
  {
    says: "makes one span of a call, with its attributes",
    async check(caller) {
      await using world = await openWorld();
      world.fake.enqueue(answerFor(caller));
      await caller.call(world);
      const { attributes, errorType, hasEnded } = world.telemetry.span(`chat ${MODEL}`);
      const [[callId]] = await rows(world, "SELECT call_id FROM calls") as [[string]];
      assert.deepEqual([hasEnded, errorType], [true, undefined]);
      const expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": MODEL,
        "gen_ai.agent.id": SCOPES.agentId,
        "gen_ai.conversation.id": SCOPES.sessionId,
        "gen_ai.request.stream": caller.isStreamed || undefined,
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 100,
        "purser.call.id": callId,
        "purser.cost_usd": 0.0014,
        "purser.price_source": "config",
        "purser.usage_estimated": undefined,
      };
      for (const [name, value] of Object.entries(expected)) assert.equal(attributes[name], value, name);
      assert.ok(attributes["gen_ai.response.id"], "the provider's id of the answer");
    },
  },
  {
    says: "sends, books and reserves nothing where it is cancelled before",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const outcome = await caller.call(world, { signal: AbortSignal.abort() });
      assert.equal(outcome.isOk, false);
      assert.deepEqual([world.fake.calls, await readCalls(world.purser)], [0, []]);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a call once that is cancelled while it waits for its answer, without a warning",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const leaving = new AbortController();
      const rest = Promise.withResolvers<void>();
      world.fake.enqueue({ ...answerFor(caller), after: rest.promise });
      world.fake.onRequest = () => {
        setTimeout(() => leaving.abort(), 5);
        setTimeout(rest.resolve, 15);
      };
      const outcome = await caller.call(world, { signal: leaving.signal });
      assert.equal(outcome.isOk, false);
      const calls = await readCalls(world.purser);
      assert.equal(calls.length, 1);
      if (!calls[0]!.isEstimated) assert.equal(calls[0]!.cost, COST);
      assert.deepEqual(warnings(world, ESTIMATE), [], "no usage was expected");
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a stream once that is cancelled in its middle, without a warning",
    of: isStreamed,
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const leaving = new AbortController();
      const rest = Promise.withResolvers<void>();
      const { frames } = answerFor(caller).answer;
      const middle = frames.findIndex((frame) => frame.includes("Hel")) + 1;
      world.fake.enqueue({ paced: [...frames.slice(0, middle), rest.promise, ...frames.slice(middle)] });
      const outcome = await caller.call(world, {
        signal: leaving.signal,
        onPart() {
          leaving.abort();
          setTimeout(rest.resolve, 5);
        },
      });
      assert.equal(outcome.isOk, false);
      const calls = await readCalls(world.purser);
      assert.equal(calls.length, 1);
      // A provider that charges for what was not read may be read to the end.
      if (!calls[0]!.isEstimated) assert.equal(calls[0]!.cost, COST);
      assert.deepEqual(warnings(world, ESTIMATE), []);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books an estimate, with a warning, of a stream that breaks off, and its span has the error",
    of: isStreamed,
    async check(caller) {
      await using world = await openWorld();
      const { frames } = answerFor(caller).answer;
      const middle = frames.findIndex((frame) => frame.includes("Hel")) + 1;
      world.fake.enqueue({ brokenAfter: frames.slice(0, middle) });
      assert.equal((await caller.call(world)).isOk, false);
      assert.deepEqual((await readCalls(world.purser)).map(({ isEstimated }) => isEstimated), [true]);
      const [warning, ...more] = warnings(world, ESTIMATE);
      assert.ok(warning && more.length === 0);
      const { errorType, attributes } = world.telemetry.span(`chat ${MODEL}`);
      assert.ok(errorType && errorType !== "broken", `a typed error: ${errorType}`);
      assert.equal(attributes["purser.usage_estimated"], true);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books an estimate, with a warning, of an answer that can't be read",
    async check(caller) {
      await using world = await openWorld();
      world.fake.enqueue({ text: "{ this is no JSON" });
      await caller.call(world);
      assert.deepEqual((await readCalls(world.purser)).map(({ isEstimated }) => isEstimated), [true]);
      assert.equal(warnings(world, ESTIMATE).length, 1);
    },
  },
  {
    says: "books nothing for an error without usage, and its span has the error",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      world.fake.enqueue({ status: 400, message: "not known" });
      assert.equal((await caller.call(world)).isOk, false);
      assert.deepEqual(await readCalls(world.purser), []);
      const { errorType, hasEnded } = world.telemetry.span(`chat ${MODEL}`);
      assert.ok(hasEnded && errorType !== undefined);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a call at the price of its sending where the price changes while it is in flight",
    async check(caller) {
      await using world = await openWorld();
      const { core } = world.purser;
      const before = core.prices.current?.() ?? core.prices;
      const dear = PRICES.map((row) => ({ ...row, input_usd_per_million: 1_000 }));
      const { createPriceBook } = await import("../../src/pricing/prices.ts");
      const after = await createPriceBook({ overrides: dear });
      world.fake.onRequest = () => void (core.prices.current = () => after);
      core.prices.current = () => before;
      world.fake.enqueue(answerFor(caller));
      await caller.call(world);
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST]);
    },
  },
  {
    says: "sends nothing while the ledger is known to take no writes",
    async check(caller) {
      await using world = await openWorld();
      const { core } = world.purser;
      core.callSpool.isLedgerDown = true;
      const { write } = core.store;
      core.store.write = () => Promise.reject(new Error("no disk"));
      const outcome = await caller.call(world);
      core.store.write = write;
      assert.equal(outcome.isOk, false);
      assert.equal(world.fake.calls, 0);
    },
  },
  {
    says: "gives no answer that can't be booked, and logs its cost",
    async check(caller) {
      await using world = await openWorld();
      const { store } = world.purser.core;
      const { writeInSet } = store;
      world.fake.onRequest = () => void (store.writeInSet = () => Promise.reject(new Error("no disk")));
      world.fake.enqueue(answerFor(caller));
      const outcome = await caller.call(world);
      store.writeInSet = writeInSet;
      assert.ok(!outcome.isOk);
      const [line, ...more] = world.purser.logs.filter(({ message }) =>
        message === "A model call was made and could not be booked"
      );
      assert.ok(line && more.length === 0, "logged once");
      assert.equal((line.fields.cost_event as { cost_usd: number }).cost_usd, 0.0014);
    },
  },
  {
    says: "refuses a call over a budget that is spent, sends nothing, and logs the refusal with its model",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0 });
      const outcome = await caller.call(world);
      assert.ok(!outcome.isOk && /Day/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, caller, "spent");
    },
  },
  {
    says: "refuses a call without a price under a budget, and names the model",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const outcome = await caller.call(world, { model: "unheard-of" });
      assert.ok(!outcome.isOk && /unheard-of/.test(outcome.error), JSON.stringify(outcome));
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, caller, "unpriced", "unheard-of");
    },
  },
  {
    says: "refuses a call whose worst case does not fit into a strict budget",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 0.0001, mode: "strict" });
      const outcome = await caller.call(world, { maxOutputTokens: 1_000 });
      assert.ok(!outcome.isOk);
      assert.equal(world.fake.calls, 0);
      await assertRefused(world, caller, "would_overshoot");
    },
  },
  {
    says: "never exceeds a strict budget with two calls at once",
    async check(caller) {
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
    says:
      "books in full a strict call that costs more than its bound, logs budget.overshot, and makes no further one",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      world.fake.enqueue(answerFor(caller, { inputTokens: 1_000_000, outputTokens: 100 }), answerFor(caller));
      await caller.call(world, { maxOutputTokens: 100 });
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [1_000_400_000n]);
      await assertOvershot(world, { unpriced: false });
    },
  },
  {
    says:
      "stops a key under the strict budget that it has overshot, no other key, until an admin raises the budget",
    of: ({ kind }) => kind === "gateway",
    async check(caller) {
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
      await assertRefused(world, caller, "overshot");
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
    async check(caller) {
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
    of: ({ api }) => api === "openai-chat",
    async check(caller) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 10, mode: "strict" });
      const { answer } = answerFor(caller);
      const odd = JSON.parse(
        JSON.stringify(answer).replaceAll(
          /(\\*")prompt_tokens_details\1:\{/g,
          (_, quote) => `${quote}prompt_tokens_details${quote}:{${quote}audio_tokens${quote}:7,`,
        ),
      );
      world.fake.enqueue({ answer: odd });
      await caller.call(world, { maxOutputTokens: 100 });
      await assertOvershot(world, { unpriced: true });
    },
  },
  {
    says: "logs no credential, neither by its value nor by its form, with the usage of an answer",
    async check(caller) {
      await using world = await openWorld();
      const value = "top-secret-value-of-the-config";
      world.purser.core.secrets.add([value]);
      const form = `sk-ant-api03-${"a1B2".repeat(22)}`;
      const usage = { inputTokens: -5, outputTokens: 100 };
      const { answer } = answerFor(caller, usage as typeof USAGE);
      const withSecrets = JSON.parse(
        JSON.stringify(answer),
        (name, member) =>
          /usage/i.test(name) && member && typeof member === "object"
            ? { ...member, note: `${value} ${form}` }
            : member,
      );
      withSecrets.frames = answer.frames.map((frame) =>
        frame.replace(/("usage(?:Metadata)?":\{)/, `$1"note":"${value} ${form}",`)
      );
      world.fake.enqueue({ answer: withSecrets });
      await caller.call(world);
      const logged = JSON.stringify(world.purser.logs);
      assert.ok(!logged.includes(value), "by value");
      assert.ok(!logged.includes(form), "by form");
    },
  },
  {
    says: "books nothing for an attempt that failed, and the one that is sent again once",
    of: ({ kind }) => kind !== "run",
    async check(caller) {
      await using world = await openWorld();
      world.fake.enqueue({ status: 503, message: "overloaded" }, answerFor(caller));
      assert.equal((await caller.call(world)).isOk, false);
      assert.equal((await caller.call(world)).isOk, true);
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST]);
      await assertNothingReserved(world);
    },
  },
];

/** Makes two calls at the same time, in a session each where runs need one. */
async function callTwice(world: World, caller: Caller): Promise<void> {
  await Promise.all([
    caller.call(world, { maxOutputTokens: 100 }),
    caller.call(world, {
      maxOutputTokens: 100,
      sessionId: `${SCOPES.sessionId}b`,
    }),
  ]);
}

async function assertRefused(
  { purser }: World,
  _caller: Caller,
  reason: string,
  model: string = MODEL,
): Promise<void> {
  const { status, body } = await purser.api("GET", "/budgets/refusals");
  assert.equal(status, 200);
  assert.equal(body.length, 1, JSON.stringify(body));
  assert.equal(body[0].model, model);
  assert.match(JSON.stringify(body[0]), new RegExp(reason));
}

async function assertOvershot(world: World, { unpriced }: { unpriced: boolean }): Promise<void> {
  const events = await rows(world, "SELECT payload FROM events WHERE type = 'budget.overshot'");
  assert.equal(events.length, 1, "budget.overshot is logged once");
  assert.equal(/unpriced_parts/.test(String(events[0]![0])), unpriced);
}
