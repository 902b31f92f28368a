import assert from "node:assert/strict";
import { createReader, type ReadRecords } from "../../src/ingest/otlp/read_records.ts";
import { agent, call, idOf, log, RECORDED_AT, span } from "../harness/telemetry_records.ts";

/** The reader of records: calls, the agents and sessions around them, and what is not booked. */

/** The agents, sessions and sub-agents of the calls of an answer. */
const placesOf = ({ calls }: ReadRecords) =>
  calls.map(({ sighting: { ref, session, subagent, known }, origin }) => ({
    call: ref.slice(-2),
    agent: origin.agentId,
    ...(session && { session }),
    ...(subagent && { subagent }),
    ...(known !== undefined && { known }),
  }));

const end = (name: string) => idOf(name).slice(-2);

Deno.test("a call is of the nearest agent around it, a sub-agent of those around that one, and of their session", () => {
  const read = createReader().read([
    call("a", "s", 10, 1),
    span("s", "r"),
    call("b", "p", 20, 2),
    agent("r", "x", {}),
    span("x", "p", { attributes: { "gen_ai.operation.name": "execute_tool" } }),
    agent("p", "", { "gen_ai.conversation.id": "ses_1" }),
  ]);
  assert.deepEqual(
    placesOf(read),
    [
      { call: end("a"), agent: "r", session: "ses_1", subagent: { id: "r", parent: undefined, type: "r" } },
      { call: end("b"), agent: "p", session: "ses_1" },
    ].map((one) => JSON.parse(JSON.stringify(one))),
  );
  assert.deepEqual([read.others, read.rollups], [4, []]);
});

Deno.test("a call whose agent comes later is said again with it, once", () => {
  const reader = createReader();
  assert.deepEqual(placesOf(reader.read([call("a", "s", 10, 1)])), [{
    call: end("a"),
    agent: "shop",
    known: 0,
  }]);
  assert.deepEqual(placesOf(reader.read([span("s", "r")])), []);
  assert.deepEqual(placesOf(reader.read([agent("r", "p")])), [{ call: end("a"), agent: "r", known: 2 }]);
  assert.deepEqual(placesOf(reader.read([agent("p", "", { "session.id": "ses_1" })])), [
    { call: end("a"), agent: "r", session: "ses_1", subagent: { id: "r", type: "r" } },
  ]);
  assert.deepEqual(placesOf(reader.read([agent("p", "")])), []);
});

Deno.test("a session that another one has started is its sub-agent", () => {
  const spawn = (parent: string, child: string) =>
    log("event", {
      scope: "codex_otel.agent_communication",
      attributes: {
        "event.name": "codex.agent_communication",
        kind: "spawn",
        sender_thread_id: parent,
        receiver_thread_id: child,
      },
    });
  const answer = (session: string) =>
    log("event", {
      scope: "codex_otel.log_only",
      attributes: {
        "event.name": "codex.sse_event",
        "event.kind": "response.completed",
        "conversation.id": session,
        model: "gpt-5.5",
        input_token_count: "10",
        output_token_count: "2",
      },
    });
  const read = createReader().read([
    spawn("root", "one"),
    spawn("one", "two"),
    spawn("x", "y"),
    spawn("y", "x"),
    answer("root"),
    answer("one"),
    answer("two"),
    answer("x"),
  ]);
  assert.deepEqual(read.calls.slice(0, 3).map(({ sighting: { session, subagent } }) => [session, subagent]), [
    ["root", undefined],
    ["root", { id: "one" }],
    ["root", { id: "two", parent: "one" }],
  ]);
  assert.equal(read.calls.length, 4);
});

Deno.test("a trace that was forgotten leaves its calls with the agent that is known", () => {
  const reader = createReader();
  reader.read([call("a", "r", 10, 1)]);
  const others = Array.from(
    { length: 60_000 },
    (_, i) => span("s", "", { traceId: `${i}`.padStart(32, "0") }),
  );
  reader.read(others);
  assert.deepEqual(placesOf(reader.read([agent("r", "")])), []);
});

Deno.test("spans that lie in each other in a circle, or within themselves, are read", () => {
  const read = createReader().read([
    call("a", "b", 10, 1),
    span("b", "c"),
    span("c", "b"),
    call("d", "d", 20, 2),
  ]);
  assert.deepEqual(read.calls.map(({ origin }) => origin.agentId), ["shop", "shop"]);
});

Deno.test("a call that a framework and its SDK both tell has the ids of one of them, in any order", () => {
  const outer = call("o", "", 100, 5, { attributes: { "gen_ai.system": "strands-agents" } });
  const inner = call("i", "h", 100, 5, {
    scope: "com.anthropic.sdk.python",
    attributes: { "gen_ai.response.id": "msg_1" },
  });
  const http = span("h", "o");
  for (
    const requests of [[[inner, http, outer]], [[outer], [http], [inner]], [[inner], [outer], [http]], [[
      http,
      inner,
    ], [outer]]]
  ) {
    const reader = createReader();
    const said = requests.flatMap((records) => reader.read(records).calls).map(({ sighting }) => sighting);
    const keys = said.map(({ responseId, fingerprint }) => [responseId, fingerprint].filter(Boolean));
    assert.ok(keys[0]!.some((key) => keys[1]!.includes(key)), JSON.stringify(keys));
  }
});

Deno.test("two calls of one instrumentation with the same counts are two, also within a call", () => {
  const read = createReader().read([
    call("a", "", 100, 5),
    call("b", "", 100, 5),
    call("c", "t", 30, 5),
    span("t", "d"),
    call("d", "", 100, 5),
  ]);
  const names = read.calls.map(({ sighting }) => sighting.fingerprint);
  assert.equal(new Set(names).size, 4);
});

Deno.test("two logs of one call that share no id are joined by their time, also across the end of a minute", () => {
  const border = RECORDED_AT + 60_000;
  const response = (at: number) =>
    log("gemini_cli.api_response", {
      scope: "gemini-cli",
      at,
      attributes: {
        "session.id": "s",
        input_token_count: 100,
        output_token_count: 5,
        total_token_count: 105,
      },
    });
  const details = log("gen_ai.client.inference.operation.details", {
    scope: "gemini-cli",
    at: border + 2,
    attributes: { "session.id": "s", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 5 },
  });
  const reader = createReader();
  const names = [[response(border - 2)], [details], [response(border + 30_000)]].flatMap((records) =>
    reader.read(records).calls.map(({ sighting }) => sighting.fingerprint)
  );
  assert.equal(names.length, 3);
  assert.equal(names[0], names[1]);
  assert.notEqual(names[0], names[2], "the same counts at another time are another call");
});

Deno.test("a span with the name of a call and the sum of those within it is no call", () => {
  const read = createReader().read([call("a", "s", 10, 1), call("b", "s", 20, 2), call("s", "", 30, 3)]);
  assert.deepEqual(read.calls.map(({ sighting }) => sighting.usage.inputTokens), [10, 20]);
  assert.equal(read.others, 1);
});

Deno.test("an agent's sum is reported if no call lies beneath, and booked where a setting says so", () => {
  const sum = { "gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 5 };
  const read = createReader().read([agent("p", "", sum), agent("q", "", sum), call("a", "q", 50, 5)]);
  assert.deepEqual(read.rollups.map(({ index, reason }) => [index, reason]), [
    [0, "a sum of model calls, none of which has come"],
  ]);
  assert.deepEqual(read.hints, [
    "1 agent spans with usage and no model call beneath: is your SDK's model instrumentation on?",
  ]);
  const booked = createReader({ sumsOf: ["gen_ai"] }).read([agent("p", "", sum)]);
  assert.deepEqual(
    booked.calls.map((
      { sighting, origin },
    ) => [origin.agentId, sighting.quality, sighting.usage.inputTokens]),
    [
      ["p", "aggregate", 50],
    ],
  );
});

Deno.test("what an agent of VoltAgent has spent beyond its known calls is one aggregate, also if they come later", () => {
  const scope = "@voltagent/core";
  const llm = (name: string, parent: string, input: number, output: number) =>
    span(name, parent, {
      scope,
      attributes: {
        "llm.operation": "streamText",
        "llm.model": "gpt-5-mini",
        "llm.usage.prompt_tokens": input,
        "llm.usage.completion_tokens": output,
        "span.type": "llm",
      },
    });
  const planner = (name: string, parent: string, input: number, output: number) =>
    span(name, parent, {
      scope,
      attributes: {
        "entity.type": "agent",
        "entity.name": "Planner",
        "agent.state": "completed",
        "ai.model.name": "gpt-5-mini",
        "usage.prompt_tokens": input,
        "usage.completion_tokens": output,
        ...(parent !== "" && { "subagent.name": "Researcher" }),
      },
    });
  const records = [
    llm("a", "p", 10, 1),
    llm("b", "r", 5, 1),
    planner("r", "t", 25, 3),
    span("t", "p", { scope }),
    planner("p", "", 30, 4),
  ];
  const read = createReader().read(records);
  assert.deepEqual(
    read.calls.map(({ sighting: { quality, usage }, origin }) => [
      origin.agentId,
      quality,
      usage.inputTokens,
      usage.outputTokens,
    ]),
    [
      ["Planner", "exact", 10, 1],
      ["Researcher", "exact", 5, 1],
      ["Researcher", "aggregate", 20, 2],
      ["Planner", "aggregate", 20, 3],
    ],
  );
  const reader = createReader();
  const last = new Map<string, number>();
  for (const record of records.toReversed()) {
    for (const { sighting } of reader.read([record]).calls) {
      last.set(sighting.ref, sighting.usage.inputTokens);
    }
  }
  assert.deepEqual([...last.values()].reduce((sum, input) => sum + input), 55);
});

Deno.test("a failed call without counts is counted, one with counts is booked, one without either is unmetered", () => {
  const none = { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini" };
  const read = createReader().read([
    span("a", "", { attributes: none, hasFailed: true }),
    span("b", "", { attributes: { ...none, "error.type": "timeout" } }),
    call("c", "", 10, 1, { hasFailed: true }),
    span("d", "", { attributes: none }),
    span("e", "", {
      attributes: { ...none, "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0 },
    }),
    // Two nested spans of one embedding.
    span("f", "g", { attributes: { "gen_ai.operation.name": "embeddings" } }),
    span("g", "", { attributes: { "gen_ai.operation.name": "embeddings" } }),
  ]);
  assert.deepEqual([read.failed, read.calls.length, read.others], [2, 1, 1]);
  assert.deepEqual(read.unmetered.map(({ index }) => index), [3, 4, 5]);
});

Deno.test("counts, times and ids that can't be any are rejected, and no other record", () => {
  const read = createReader().read([
    call("a", "", -1, 1),
    call("b", "", 10, 1, { attributes: { "gen_ai.usage.output_tokens": 2n ** 63n } }),
    call("c", "", 10, 1, { attributes: { "gen_ai.usage.output_tokens": 0.5 } }),
    call("d", "", 10, 1, { attributes: { "gen_ai.usage.output_tokens": "many" } }),
    call("e", "", 10, 1, { startsAt: 0 }),
    call("f", "", 10, 1, { startsAt: Date.UTC(2262, 0), endsAt: Date.UTC(2262, 0) }),
    call("g", "", 10, 1, { endsAt: RECORDED_AT - 5 }),
    call("h", "", 10, 1, { spanId: "" }),
    call("i", "", 10, 1, { traceId: "" }),
    log("gen_ai.client.inference.operation.details", {
      at: NaN,
      attributes: { "gen_ai.usage.input_tokens": 3 },
    }),
    call("k", "", 10, 1, { attributes: { "gen_ai.usage.output_tokens": "7" } }),
  ]);
  assert.deepEqual(read.rejected.map(({ index }) => index), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(read.calls.map(({ sighting }) => sighting.usage.outputTokens), [7]);
});

Deno.test("Purser's own records, spans that go on, and those of other programs are accepted and not read", () => {
  const read = createReader().read([
    call("a", "", 10, 1, { scope: "purser" }),
    call("b", "", 10, 1, { attributes: { "purser.call.id": "call_1" } }),
    call("c", "", 10, 1, { attributes: { "logfire.span_type": "pending_span" } }),
    call("d", "", 10, 1, { endsAt: NaN }),
    span("e", "", { scope: "http", attributes: { "http.request.method": "GET" } }),
    log("anything"),
  ]);
  assert.deepEqual([read.calls, read.others], [[], 6]);
});

Deno.test("an unknown scope is read by the conventions, whose names were changed, and marked as derived", () => {
  const usage = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "gcp.vertex_ai",
    "gen_ai.request.model": "gemini-2.5-flash",
    "gen_ai.usage.prompt_tokens": 10,
    "gen_ai.usage.completion_tokens": 3,
  };
  const [one, beside] = createReader().read([
    span("a", "", { scope: "acme", attributes: usage }),
    span("b", "", { scope: "acme", attributes: { ...usage, "gen_ai.usage.cache_read.input_tokens": 40 } }),
  ]).calls.map(({ sighting }) => sighting);
  assert.deepEqual([one!.quality, one!.provider, one!.usage.inputTokens], ["derived", "vertex", 10]);
  // More from the cache than all of the input: the cache is beside it.
  assert.deepEqual([beside!.usage.inputTokens, beside!.usage.cacheReadTokens], [50, 40]);
});

Deno.test("a sender of sampled traces, or of records that only repeat calls, is told so", () => {
  const sampled = createReader().read([call("a", "", 10, 1, { traceState: "x=1,ot=th:8" })]);
  assert.deepEqual(sampled.hints, [
    "These traces are sampled, and calls are missing: export model calls with always_on",
  ]);
  assert.deepEqual(createReader().read([call("a", "", 10, 1, { traceState: "ot=th:0" })]).hints, []);
  const repeats = Array.from({ length: 12 }, (_, index) =>
    span(`handle_responses`, "", {
      scope: "codex_exec",
      spanId: idOf(`${index}`),
      attributes: { "gen_ai.usage.input_tokens": 10 },
    }));
  assert.deepEqual(createReader().read(repeats).hints.length, 1);
  const agents = Array.from({ length: 12 }, (_, index) => agent(`p${index}`, ""));
  assert.deepEqual(createReader().read(agents).hints, [
    "Agent spans and no model call: is your SDK's model instrumentation on?",
  ]);
  assert.deepEqual(createReader().read([call("a", "", 10, 1), ...agents]).hints, []);
});
