import assert from "node:assert/strict";
import type { Caller } from "../callers.ts";
import { createPriceBook } from "../../../src/pricing/prices.ts";
import { readCalls } from "../../gateway/requests.ts";
import {
  answerFor,
  audioAnswerFor,
  COST,
  everyCaller,
  isElsewhere,
  overOneWire,
  reports,
  type Sentence,
} from "../sentence.ts";
import { assertNothingReserved, MODEL, PRICES, pricesOf, readRows, SCOPES } from "../world.ts";

/** The ids in the headers of an answer of each provider, and what they are. */
const openai = {
  headers: { "x-request-id": "req_1", "openai-organization": "acme", "openai-project": "proj_1" },
  account: "acme",
  project: "proj_1",
};
const IDS = {
  openai,
  local: openai,
  anthropic: {
    headers: { "request-id": "req_1", "anthropic-organization-id": "acme" },
    account: "acme",
    project: null,
  },
  google: { headers: { "x-request-id": "req_1" }, account: null, project: null },
};

/** The name of the credential of a caller, and the length of its hash: `meter()` wraps a model of a program, which has its own. */
function credentialOf({ kind, provider }: Caller): [string | null, bigint | null] {
  if (kind === "meter") return [null, null];
  const variables = {
    openai: "OPENAI_API_KEY",
    anthropic: "ANTHROPIC_API_KEY",
    google: "GOOGLE_GENERATIVE_AI_API_KEY",
  };
  const variable = variables[provider as keyof typeof variables];
  return variable === undefined ? [provider, null] : [variable, 16n];
}

/** The row of a call in the ledger: its fields, its price, its tags; and its span. */
export const BOOKED_ROW: readonly Sentence[] = [
  {
    says: "books a call once, with each field of its row",
    of: everyCaller,
    async check(caller, openWorld) {
      await using world = await openWorld();
      const { headers, account, project } = IDS[caller.provider as keyof typeof IDS];
      world.fake.enqueue({ ...answerFor(caller), headers });
      assert.deepEqual(await caller.call(world), { isOk: true });
      const [row, ...more] = await readRows(
        world,
        `SELECT agent_id, session_id, run_id IS NOT NULL, step, c.key_id, source, tools, c.provider, model, input_tokens,
  output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, total_tokens, cost_nano_usd, unpriced,
  partly_priced, price_source, price_id IS NOT NULL, response_id IS NOT NULL, is_estimated, adjusts, at,
  request_id, u.provider, credential, length(key_hash), account, project, u.key_id FROM calls c LEFT JOIN upstreams u USING (upstream_id)`,
      );
      const ofRun = caller.kind === "run" || caller.kind === "meter" ? [1n, 1n] : [0n, null];
      const hasResponseId = caller.kind === "report" ? 0n : 1n;
      const isPaid = caller.kind !== "meter" || account !== null;
      assert.deepEqual(row, [
        ...[SCOPES.agentId, SCOPES.sessionId, ...ofRun, null, caller.kind, "[]", caller.provider, MODEL],
        ...[1_000n, 100n, 0n, 0n, 0n, 1_100n, COST, 0n, 0n, "config", 1n],
        ...[hasResponseId, 0n, null, BigInt(world.purser.clock.now())],
        ...isElsewhere(caller)
          ? Array(7).fill(null)
          : ["req_1", isPaid ? caller.provider : null, ...credentialOf(caller), account, project, null],
      ]);
      assert.deepEqual(more, []);
      await assertNothingReserved(world);
    },
  },
  {
    says: "makes one span of a call, with its attributes",
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue(answerFor(caller));
      await caller.call(world);
      const { attributes, errorType, hasEnded } = world.telemetry.span(`chat ${MODEL}`);
      const [[callId]] = await readRows(world, "SELECT call_id FROM calls") as [[string]];
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
    says: "books a call at the price that was in force at its time",
    of: everyCaller,
    async check(caller, openWorld) {
      const dear = pricesOf(MODEL, { input_usd_per_million: 10, from: "2026-11-02" });
      await using world = await openWorld({ config: { prices: [...PRICES, ...dear] } });
      const { clock } = world.purser;
      const [before, dayMs] = [clock.now(), 86_400_000];
      world.fake.enqueue(answerFor(caller), answerFor(caller));
      // Only a report or a log can come later than its call.
      if (isElsewhere(caller)) clock.advance(dayMs);
      await caller.call(world, { at: before });
      if (!isElsewhere(caller)) clock.advance(dayMs);
      await caller.call(world, { at: before + dayMs });
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST, 10_400_000n]);
    },
  },
  {
    says: "books a call at the price of its sending where the price changes while it is in flight",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const { core } = world.purser;
      const before = core.prices.current?.() ?? core.prices;
      const dear = PRICES.map((row) => ({ ...row, input_usd_per_million: 1_000 }));
      const after = await createPriceBook({ overrides: dear });
      world.fake.onRequest = () => void (core.prices.current = () => after);
      core.prices.current = () => before;
      world.fake.enqueue(answerFor(caller));
      await caller.call(world);
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST]);
    },
  },
  {
    says: "books the parts of a call that have a price, and names the others",
    // The agent whose log this is counts no audio.
    of: (caller) => overOneWire(caller) && caller.kind !== "log",
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue(audioAnswerFor(caller));
      await caller.call(world);
      const [row] = await readRows(
        world,
        "SELECT partly_priced, unpriced, unpriced_parts, cost_nano_usd FROM calls",
      );
      assert.deepEqual(row, [1n, 0n, '["input_audio_tokens"]', COST - 7_000n]);
    },
  },
  {
    says: "books a call without a cost, never with 0, where its model has no price",
    of: everyCaller,
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue(answerFor(caller));
      await caller.call(world, { model: "unheard-of" });
      const [row] = await readRows(world, "SELECT cost_nano_usd, unpriced, price_source FROM calls");
      assert.deepEqual(row, [null, 1n, "none"]);
    },
  },
  {
    says: "keeps no configured secret in the tags of a call",
    of: everyCaller,
    async check(caller, openWorld) {
      await using world = await openWorld();
      const secret = "top-secret-value-of-the-config";
      world.purser.core.secrets.add([secret]);
      world.fake.enqueue(answerFor(caller));
      await caller.call(world, { tags: { customer: "acme", note: `of ${secret}` } });
      const [[tags]] = await readRows(world, "SELECT tags FROM calls") as [[string]];
      assert.ok(!tags.includes(secret), tags);
      assert.equal(JSON.parse(tags).customer, "acme");
    },
  },
  {
    says: "books a call once that is told again, before, at the same time and after",
    of: isElsewhere,
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue(...[1, 2, 3, 4].map(() => answerFor(caller)));
      const at = world.purser.clock.now();
      const report = () => caller.call(world, { callId: "the-same", at });
      assert.deepEqual(await Promise.all([report(), report()]), [{ isOk: true }, { isOk: true }]);
      world.purser.clock.advance(60_000);
      assert.deepEqual(await report(), { isOk: true });
      const other = await caller.call(world, { callId: "the-same", at: at + 1 });
      // Of several witnesses in logs one is right; a report is the only one.
      assert.equal(other.isOk ? "ok" : other.code, reports(caller) ? "conflict" : "ok");
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST]);
    },
  },
  {
    says: "makes no span of a call that was made elsewhere",
    of: isElsewhere,
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue(answerFor(caller));
      await caller.call(world);
      assert.deepEqual(world.telemetry.spans.filter(({ name }) => name.startsWith("chat")), []);
    },
  },
  {
    says: "logs no credential, neither by its value nor by its form, with the usage of an answer",
    async check(caller, openWorld) {
      await using world = await openWorld();
      const value = "top-secret-value-of-the-config";
      world.purser.core.secrets.add([value]);
      const form = `sk-ant-api03-${"a1B2".repeat(22)}`;
      const usage = { inputTokens: -5, outputTokens: 100 };
      const { answer } = answerFor(caller, usage);
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
];
