import assert from "node:assert/strict";
import { createReceiver, decodeJson, decodeProtobuf, type Receiver } from "../../src/ingest/otlp/mod.ts";
import type { Sender } from "../../src/calls/mod.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { createTurns } from "../../src/kernel/turns.ts";
import { listCosts, readCostTotal } from "../../src/ledger/mod.ts";
import type { Store } from "../../src/store/mod.ts";
import { FIXTURE_AT } from "../fixtures/providers/mod.ts";
import { createBooking } from "../harness/booking.ts";
import { checkTotals } from "../harness/check_books.ts";
import { testOver } from "../harness/store_tests.ts";
import { dialectKinds } from "../harness/databases.ts";
import { encodeOtlp } from "../harness/otlp_messages.ts";
import { callSpan, count, spansOf, text } from "../harness/otlp_requests.ts";

/** A server takes the requests of exporters: hostile ones, and those that come again. */

/** A server of its own, with a receiver that knows no trace. */
async function openInstance(store: Store, settings: Parameters<typeof createReceiver>[0] = {}) {
  const booking = await createBooking(store, { clock: fixedClock(FIXTURE_AT) });
  let turnsTaken = 0;
  const turns = createTurns(() => (turnsTaken++, Promise.resolve()));
  const ctx = { ...booking, turns };
  const receiver: Receiver = createReceiver(settings);
  const sender: Sender = { keyId: "key_1" };
  return {
    ctx,
    turnsTaken: () => turnsTaken,
    receive: (spans: readonly object[], by = sender) =>
      receiveBytes(encodeOtlp("traces", spansOf(spans)), by),
    receiveBytes,
  };
  function receiveBytes(bytes: Uint8Array, by = sender) {
    return receiver.receive(ctx, decodeProtobuf(bytes, "traces"), by);
  }
}

const span = (index: number, more: Parameters<typeof callSpan>[1] = {}) => callSpan(index.toString(16), more);

/** A call, and the span of the agent around it. */
function callWithin(
  agent: string,
  more: Parameters<typeof callSpan>[1] = {},
  counts: readonly object[] = [],
) {
  const spanId = "f".repeat(16);
  const call = { ...span(1, more) as { traceId: string }, parentSpanId: spanId };
  const named = [text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", agent)];
  return { call, around: { ...span(2), traceId: call.traceId, spanId, attributes: [...named, ...counts] } };
}

const total = async (store: Store) => {
  const { model_calls, input_tokens } = await readCostTotal(store, {});
  return [model_calls, input_tokens];
};

for (const kind of dialectKinds()) {
  const test = (sentence: string, body: (store: Store) => Promise<void>) =>
    testOver(kind)(sentence, async (store) => {
      await body(store);
      await checkTotals(store);
    });

  test("a request that is sent again, because its answer was lost, books nothing on any instance", async (store) => {
    const [first, second] = await Promise.all([openInstance(store), openInstance(store)]);
    const spans = Array.from({ length: 553 }, (_, index) => span(index, { input: 1_000 + index }));
    const sum = 553 * 1_000 + 552 * 553 / 2;
    // Two at the same time: of both, each call is one.
    const answers = await Promise.all([first.receive(spans), second.receive(spans)]);
    assert.deepEqual(answers, Array(2).fill({ rejected: 0, message: "" }));
    assert.deepEqual(await total(store), [553, sum]);
    // Others get their turn after the records are read, and after each commit.
    assert.ok(first.turnsTaken() >= 4, `${first.turnsTaken()} turns`);
    // A process that was killed after its commit knows nothing of it.
    const third = await openInstance(store);
    for (const instance of [first, third]) {
      await instance.receive(spans.slice(250));
      await instance.receive(spans.slice(0, 300).reverse());
    }
    assert.deepEqual(await total(store), [553, sum]);
    for (const { ctx } of [first, second, third]) await ctx.rollUps.ended();
  });

  test("a request of several sets is flushed to the disk by one commit, before it is answered", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const commits: string[] = [];
    const writeInSet = store.writeInSet.bind(store);
    store.writeInSet = (writer, item) => {
      commits.push(writer.mayLose?.(item) ? "set" : "flushed set");
      return writeInSet(writer, item);
    };
    const spans = Array.from({ length: 300 }, (_, index) => span(index));
    await receive(spans.slice(0, 20));
    await receive(spans.slice(20));
    assert.deepEqual(commits, ["flushed set", "set", "set", "flushed set"]);
    await ctx.rollUps.ended();
  });

  test("the calls of an agent that is used with a plan have a plan value, and cost nothing", async (store) => {
    const { ctx, receive } = await openInstance(store, { plans: ["shop"] });
    await receive([span(1), span(2)]);
    const { model_calls, cost_usd, plan_usd } = await readCostTotal(store, {});
    assert.deepEqual([model_calls, cost_usd], [2, 0]);
    assert.ok(plan_usd! > 0);
    await ctx.rollUps.ended();
  });

  test("records whose counts, times or ids can't be any are rejected and counted, and the others are booked", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const wrong = [
      span(1, { input: -1 }),
      span(2, { output: -1 }),
      span(3, { input: "9223372036854775807" }),
      span(4, { output: 2_000_000_000 }),
      span(5, { at: 0 }),
      span(6, { at: Date.UTC(1970, 0, 2) }),
      span(7, { at: Date.UTC(2262, 3, 11) }),
      span(8, { at: FIXTURE_AT + 3_600_000 }),
      { ...span(9), traceId: "" },
      { ...span(10), spanId: "" },
      { ...span(11), startTimeUnixNano: "18446744073709551615" },
    ];
    const { rejected, message } = await receive([...wrong, span(12), {
      ...span(13),
      name: "x",
      attributes: [],
    }]);
    assert.equal(rejected, wrong.length, message);
    assert.match(message, /^rejected: /);
    assert.deepEqual(await total(store), [1, 1_000]);
    assert.equal((await receive(wrong)).rejected, wrong.length);
    assert.deepEqual(await total(store), [1, 1_000]);
    await ctx.rollUps.ended();
  });

  test("of attributes that come twice the last one counts, and deep ones and ids that are no UTF-8 harm nothing", async (store) => {
    const { ctx, receive, receiveBytes } = await openInstance(store);
    let deep: object = { stringValue: "x" };
    for (let depth = 0; depth < 40; depth++) deep = { arrayValue: { values: [deep] } };
    const twice = [count("gen_ai.usage.input_tokens", 7), { key: "deep", value: deep }];
    await receive([span(1, { attributes: twice })]);
    assert.deepEqual(await total(store), [1, 7]);
    // The ids of two answers, whose last bytes are no UTF-8, are not the same.
    for (const [index, byte] of [[2, 0xff], [3, 0xfe]] as const) {
      const id = text("gen_ai.response.id", "resp_0123456789abcdef!");
      const bytes = encodeOtlp("traces", spansOf([span(index, { attributes: [id] })]));
      bytes[bytes.lastIndexOf("!".charCodeAt(0))] = byte;
      await receiveBytes(bytes);
    }
    assert.deepEqual(await total(store), [3, 2_007]);
    await ctx.rollUps.ended();
  });

  test("last month's records are booked in their month once, however often they come", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const spans = [1, 2, 3].map((day) => span(day, { at: Date.UTC(2026, 8, day) }));
    for (let again = 0; again < 3; again++) await receive(spans);
    const days = await listCosts(store, { groupBy: "day", limit: 10, offset: 0 });
    assert.deepEqual(days.map((row) => [row.day, row.model_calls]).sort(), [
      ["2026-09-01", 1],
      ["2026-09-02", 1],
      ["2026-09-03", 1],
    ]);
    await ctx.rollUps.ended();
  });

  test("a call has the millisecond that its span has, as protobuf and as JSON", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const times = Array.from({ length: 20 }, (_, index) => FIXTURE_AT - 60_000 + index);
    await receive(times.map((at, index) => span(index, { at })));
    const sent = spansOf(times.map((at, index) => span(100 + index, { at })));
    await createReceiver().receive(ctx, decodeJson(sent, "traces"), { keyId: "key_1" });
    const { rows } = await store.read({ sql: "SELECT at FROM calls ORDER BY at" });
    assert.deepEqual(rows.map(([at]) => Number(at)), times.flatMap((at) => [at, at]));
    await ctx.rollUps.ended();
  });

  test("the calls of one request are of the agents that their records name", async (store) => {
    const { ctx, receive } = await openInstance(store);
    await receive([span(1, { agent: "planner" }), span(2, { agent: "writer" }), span(3)]);
    const agents = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.deepEqual(agents.map((row) => row.agent_id).sort(), ["planner", "shop", "writer"]);
    await ctx.rollUps.ended();
  });

  test("the spans of a key place no calls of another key, though their traces have the same id", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const { call, around } = callWithin("thief");
    const agents = async () =>
      (await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 })).map((row) => row.agent_id);
    await receive([call]);
    await receive([around], { keyId: "key_2" });
    assert.deepEqual(await agents(), ["shop"]);
    await receive([around]);
    assert.deepEqual(await agents(), ["thief"]);
    await ctx.rollUps.ended();
  });

  test("a call moves to its agent though the request that names it could not be booked at first", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const { call, around } = callWithin("planner");
    await receive([call]);
    const { prices } = ctx;
    const away = () => Promise.reject(new PurserError("unavailable", "Cannot write: the database is away"));
    ctx.prices = Object.create(prices, { ready: { value: away } });
    await assert.rejects(receive([around]), /is away/);
    ctx.prices = prices;
    await receive([around]);
    const agents = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    assert.deepEqual(agents.map((row) => [row.agent_id, row.model_calls]), [["planner", 1]]);
    await ctx.rollUps.ended();
  });

  test("a sum without calls is booked where a setting names its scope, less the calls that come later", async (store) => {
    const { call, around } = callWithin("planner", { input: 400 }, [
      text("gen_ai.request.model", "priced"),
      count("gen_ai.usage.input_tokens", 1_000),
      count("gen_ai.usage.output_tokens", 100),
    ]);
    const { ctx: { rollUps }, receive } = await openInstance(store);
    assert.match((await receive([around])).message, /1 agent spans with usage and no model call beneath/);
    assert.deepEqual(await total(store), [0, 0]);
    await rollUps.ended();
    const { ctx, receive: receiveSums } = await openInstance(store, {
      sums: ["opentelemetry.instrumentation.genai"],
    });
    await receiveSums([around]);
    assert.deepEqual(await total(store), [1, 1_000]);
    await receiveSums([call]);
    assert.deepEqual(await total(store), [2, 1_000]);
    await ctx.rollUps.ended();
  });

  test("a key of one agent neither books nor moves the calls of another one", async (store) => {
    const { ctx, receive } = await openInstance(store);
    const narrow: Sender = { keyId: "key_2", agentId: "mine" };
    const theirs = span(1, { agent: "theirs" });
    assert.equal((await receive([theirs], narrow)).rejected, 1);
    assert.deepEqual(await total(store), [0, 0]);
    await receive([theirs]);
    // The same ids with other counts, of its own agent.
    await receive([span(1, { agent: "mine", input: 1 })], narrow);
    const agents = await listCosts(store, { groupBy: "agent", limit: 10, offset: 0 });
    const of = (agent: string) => agents.find(({ agent_id }) => agent_id === agent);
    assert.deepEqual([of("theirs")?.model_calls, of("theirs")?.input_tokens], [1, 1_000]);
    assert.equal(await receive([span(2)], narrow).then(({ rejected }) => rejected), 0);
    await ctx.rollUps.ended();
  });
}
