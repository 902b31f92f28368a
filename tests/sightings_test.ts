import assert from "node:assert/strict";
import {
  bookLooseCalls,
  reportCalls,
  type ReportedCall,
  sightCalls,
  type Sighting,
  type SightingOrigin,
} from "../src/calls/mod.ts";
import { type Said, witnessOf } from "../src/calls/sightings/said.ts";
import { listCalls, listCosts } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import type { TestBooking } from "./harness/booking.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { bookingTests, unchecked } from "./harness/booking_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { AT, gatewayCall, LOG, sighting } from "./harness/sightings.ts";

async function total({ store }: TestBooking) {
  const [row] = await listCosts(store, { groupBy: "provider", limit: 10, offset: 0 });
  return row && [row.model_calls, row.input_tokens, row.output_tokens, row.cost_usd, row.estimated_calls];
}

const ROWS = { sql: "SELECT witness, said FROM sightings" };

const kinds = dialectKinds();
for (const kind of kinds) {
  const test = bookingTests(kind, { clock: () => eagerClock(), check: unchecked });

  test("a call of a log is booked once, and an import of the same changes nothing", async (ctx) => {
    const first = await sightCalls(ctx, LOG, [sighting()]);
    assert.equal(first.booked, 1);
    const again = await sightCalls(ctx, LOG, [sighting(), sighting()]);
    assert.deepEqual([again.booked, again.duplicates], [0, 2]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const [call] = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.equal(call?.agent_id, "claude-code");
    assert.deepEqual(call?.tags, { branch: "main", machine: "laptop", project: "shop" });
  });

  test("the row of a call holds the statement of its only witness, and a row of its own what it says later", async (ctx) => {
    const plain = sighting({ ref: "none", responseId: undefined, requestId: undefined });
    const told: [SightingOrigin, Sighting][] = [
      [
        LOG,
        sighting({ ref: "msg_012345abcdef", provider: undefined, tools: ["Bash"], serviceTier: "batch" }),
      ],
      [LOG, {
        ...plain,
        ref: "a_record:a",
        at: AT + 1,
        isCopy: true,
        quality: "provisional",
        marks: ["disputed"],
      }],
      [{ ...LOG, source: "otlp", machine: "x" }, {
        ...plain,
        ref: "a_trace:b",
        at: AT + 2,
        known: 0,
        run: "r",
      }],
      [{
        ...LOG,
        source: "otlp",
        sender: { keyId: "key_1", keyTags: { project: "key" }, agentId: LOG.agentId },
      }, {
        ...sighting({ responseId: "resp_of_key:1", requestId: "req_of_key_1" }),
        ...{ ref: "a_trace:c", at: AT + 3, isPlan: true, statedCostUsd: "0.10", durationMs: 1.5 },
      }],
      [LOG, { ...plain, ref: "msg_of_itself", responseId: "msg_of_itself", at: AT + 4, model: undefined }],
    ];
    told.forEach(([, one], index) => one.usage = usageOf({ inputTokens: 100 + index, outputTokens: 7 }));
    const state = async () =>
      (await ctx.store.readAll([{ sql: "SELECT * FROM calls" }, ROWS])).map(({ rows }) => rows);
    for (const [origin, one] of told) assert.equal((await sightCalls(ctx, origin, [one])).booked, 1, one.ref);
    const before = await state();
    assert.equal(before[0]!.length, told.length);
    assert.equal(before[1]!.length, 0, "no witness has a row of its own");
    for (const [origin, one] of told) {
      assert.equal((await sightCalls(ctx, origin, [one])).duplicates, 1, one.ref);
    }
    assert.deepEqual(await state(), before, "said again, it says nothing new");
    for (const [origin, one] of told) {
      // Under the same name, nearly a day earlier, and without the other ids.
      const later = {
        ...one,
        at: one.at - 80_000_000,
        responseId: undefined,
        requestId: undefined,
        branch: "other",
      };
      const { booked, refused } = await sightCalls(ctx, origin, [later]);
      assert.deepEqual([booked, refused], [0, 0], one.ref);
    }
    const rows = (await ctx.store.read(ROWS)).rows.map((
      [witness, said],
    ) => [witness, JSON.parse(said as string)]);
    for (const [index, [origin, one]] of told.entries()) {
      const kept = rows.find(([witness]) => witness === `${origin.source}:${origin.name}:${one.ref}`)![1];
      const { said } = witnessOf(ctx, origin, one, index);
      assert.ok(kept.some((each: Said) => JSON.stringify(each) === JSON.stringify(said)), one.ref);
    }
    const costs = await listCosts(ctx.store, { groupBy: "provider", limit: 10, offset: 0 });
    assert.equal(costs.reduce((sum, one) => sum + one.model_calls, 0), told.length);
  });

  test("a later record of a call that went on amends it", async (ctx) => {
    const early = sighting({
      quality: "provisional",
      usage: usageOf({ inputTokens: 1000, outputTokens: 5 }),
    });
    await sightCalls(ctx, LOG, [early]);
    assert.deepEqual(await total(ctx), [1, 1000, 5, 0.00102, 1]);
    const result = await sightCalls(ctx, LOG, [sighting()]);
    assert.equal(result.amended, 1);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const calls = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.deepEqual(calls.map((one) => [one.output_tokens, one.cost_usd, one.estimated, one.quality]), [
      [631, 0.003524, false, undefined],
    ]);
    assert.equal((await sightCalls(ctx, LOG, [early])).duplicates, 1);
  });

  test("the gateway's row of a call takes the place of the log's", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting()]);
    await bookLooseCalls(ctx, [gatewayCall()]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const calls = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.deepEqual(calls.map((one) => one.call_id), ["call_1"]);
  });

  test("a log adds to the gateway's row of a call, and books nothing", async (ctx) => {
    await bookLooseCalls(ctx, [gatewayCall()]);
    const result = await sightCalls(ctx, LOG, [sighting()]);
    assert.deepEqual([result.booked, result.enriched], [0, 1]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
  });

  test("a later report of a call that says more amends it, and a contradiction stays a conflict", async (ctx) => {
    const report = (more: Partial<ReportedCall>): ReportedCall => ({
      callId: "mine",
      at: AT,
      agentId: "ann",
      sessionId: "ses_a",
      runId: null,
      keyId: "key_1",
      step: null,
      tools: [],
      provider: "local",
      model: "priced",
      usage: usageOf({ inputTokens: 1_000, outputTokens: 5 }),
      durationMs: null,
      ...more,
    });
    const full = { usage: usageOf({ inputTokens: 1_000, outputTokens: 631 }) };
    assert.equal((await reportCalls(ctx, "report", [report({})])).booked, 1);
    assert.deepEqual(await reportCalls(ctx, "report", [report(full)]), {
      booked: 0,
      duplicates: 0,
      amended: 1,
      unpriced: 0,
    });
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    assert.equal((await reportCalls(ctx, "report", [report(full)])).duplicates, 1);
    assert.equal((await reportCalls(ctx, "report", [report({})])).duplicates, 1, "what was booked first");
    const larger = { usage: usageOf({ inputTokens: 1_000, outputTokens: 700 }) };
    for (
      const other of [{ keyId: "key_2" }, { agentId: "bob" }, { model: "other" }, { sessionId: "ses_b" }]
    ) {
      await assert.rejects(reportCalls(ctx, "report", [report({ ...larger, ...other })]), /other content/);
    }
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
  });

  test("a report of a call that the gateway has booked changes nothing, whichever comes first", async (ctx) => {
    const responseId = "msg_012345abcdef";
    const report: ReportedCall = {
      callId: "mine",
      at: AT,
      agentId: "bob",
      sessionId: null,
      runId: null,
      step: null,
      tools: [],
      provider: "local",
      model: "priced",
      usage: usageOf({ inputTokens: 1, outputTokens: 0 }),
      durationMs: null,
      responseId,
    };
    await reportCalls(ctx, "report", [{ ...report, callId: "early" }]);
    await bookLooseCalls(ctx, [gatewayCall()]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const late = await reportCalls(ctx, "report", [report]);
    assert.deepEqual([late.booked, late.duplicates], [0, 1]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    assert.deepEqual((await listCosts(ctx.store, { groupBy: "agent", limit: 10, offset: 0 })).length, 1);
  });

  test("a key corrects no call that another key has reported", async (ctx) => {
    await sightCalls(ctx, { ...LOG, sender: { keyId: "key_1" } }, [sighting()]);
    const liar = { ...LOG, sender: { keyId: "key_2" }, agentId: "bob" };
    const usage = usageOf({ inputTokens: 1, outputTokens: 632 });
    const said = await sightCalls(ctx, liar, [sighting({ usage })]);
    assert.deepEqual([said.amended, said.booked, said.conflicts], [0, 0, 1]);
    await sightCalls(ctx, { ...liar, source: "otlp" }, [sighting({ usage, ref: "span" })]);
    assert.deepEqual(await total(ctx), [1, 1000, 631, 0.003524, 0]);
    const bound = {
      ...liar,
      source: "otlp" as const,
      sender: { keyId: "key_2", agentId: "bob" },
      name: "bound",
    };
    await sightCalls(ctx, bound, [sighting({ ref: "span" })]);
    const [row] = await listCosts(ctx.store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.equal(row?.agent_id, "claude-code");
  });

  test("sightings that can't be calls are refused, and the others booked", async (ctx) => {
    const result = await sightCalls(ctx, LOG, [
      sighting({ ref: "a", at: ctx.clock.now() + 3_600_000 }),
      sighting({ ref: "b", usage: usageOf({ inputTokens: -1 }) }),
      sighting({ ref: "" }),
      sighting({ branch: "x".repeat(500), folder: "/a/" + "y".repeat(300), tags: { "no key": "v" } }),
    ]);
    assert.deepEqual([result.booked, result.refused], [1, 3]);
    assert.deepEqual(result.outcomes, ["refused", "refused", "refused", "booked"]);
    assert.match(result.reasons.get(0)!, /five minutes ahead/);
    const [call] = await listCalls(ctx.query, { sessionId: "ses_a", limit: 10 });
    assert.equal(call?.tags?.branch?.length, 100);
  });

  test("a large set is rolled up in its own commit, and only calls of the last day are published", async (ctx) => {
    const set = Array.from({ length: 600 }, (_, n) => {
      const id = `msg_012345abcdef${n}`;
      return sighting({ ref: id, responseId: id, requestId: id, at: n < 3 ? AT : AT - 40 * 86_400_000 });
    });
    await sightCalls(ctx, LOG, set);
    const { rows } = await ctx.store.read({
      sql: "SELECT position FROM rollup_positions WHERE name = 'totals'",
    });
    assert.deepEqual(rows, [[600n]]);
    assert.equal((await total(ctx))![0], 600);
    assert.equal(ctx.published.length, 3);
  });

  test("an answer's id that is a placeholder makes one call of sightings only if their counts agree", async (ctx) => {
    const span = { ...LOG, source: "otlp" as const, name: "exporter" };
    const id = { responseId: "chatcmpl-123", requestId: undefined };
    await sightCalls(ctx, LOG, [sighting({ ...id, ref: "1" })]);
    const other = await sightCalls(ctx, LOG, [
      sighting({ ...id, ref: "2", usage: usageOf({ inputTokens: 7, outputTokens: 7 }) }),
    ]);
    assert.equal(other.booked, 1);
    assert.equal((await sightCalls(ctx, span, [sighting({ ...id, ref: "span" })])).booked, 0);
    const elsewhere = await sightCalls(ctx, { ...LOG, name: "b" }, [
      sighting({ requestId: undefined, ref: "3" }),
      sighting({ requestId: undefined, ref: "4", provider: "elsewhere" }),
    ]);
    assert.equal(elsewhere.booked, 2, "two providers");
  });
}
