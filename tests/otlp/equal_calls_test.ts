import assert from "node:assert/strict";
import { bookLooseCalls, sightCalls } from "../../src/calls/mod.ts";
import { type CallRecord, createReader } from "../../src/ingest/otlp/read_records.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { fixedClock } from "../../src/kernel/clock.ts";
import { readCostTotal } from "../../src/ledger/mod.ts";
import { usageOf } from "../../src/pricing/mod.ts";
import { FIXTURE_AT } from "../fixtures/providers/mod.ts";
import { createBooking } from "../harness/booking.ts";
import { dialectKinds } from "../harness/databases.ts";
import { gatewayCall } from "../harness/sightings.ts";
import { call, log, span } from "../harness/telemetry_records.ts";

/** Calls that hardly anything tells apart are several: equal counts at the same time, attempts, and one id for all answers. */

const AT = FIXTURE_AT - 3_600_000;
const trace = (name: string) => name.padStart(32, "0");

/** A call of 100 and 5 tokens by the SDK `s…` or the framework `f…`, whose spans are told apart by what follows. */
const told = (name: string, parent = "", more: Parameters<typeof call>[4] = {}) =>
  call(name, parent, 100, 5, {
    scope: name.startsWith("f") ? "framework" : "sdk",
    startsAt: AT,
    endsAt: AT + 500,
    ...more,
  });

const withId = (id: string) => ({ attributes: { "gen_ai.response.id": id } });

/** Logs of one server, whose answers all have one id. */
const LOGS: Readonly<Record<string, (index: number) => TelemetryRecord>> = {
  "Qwen Code": (index) =>
    log("qwen-code.api_response", {
      scope: "qwen-code",
      at: AT + index * 2_000,
      attributes: {
        "session.id": "s",
        model: "qwen3",
        response_id: "chatcmpl-123",
        input_token_count: 100 + index,
        output_token_count: 5,
      },
    }),
  "Claude Code": (index) =>
    log("api_request", {
      scope: "com.anthropic.claude_code.events",
      at: AT + index * 2_000,
      attributes: {
        "session.id": "s",
        model: "claude-sonnet-5",
        request_id: "req_1",
        input_tokens: 100 + index,
        output_tokens: 5,
      },
    }),
  "the conventions": (index) =>
    log("gen_ai.client.inference.operation.details", {
      at: AT + index * 2_000,
      attributes: {
        "gen_ai.response.id": "chatcmpl-123",
        "gen_ai.usage.input_tokens": 100 + index,
        "gen_ai.usage.output_tokens": 5,
      },
    }),
};

for (const kind of dialectKinds()) {
  /** Books requests, each of several records, and compares the calls and their tokens. */
  const test = (
    name: string,
    requests: readonly (readonly TelemetryRecord[])[],
    expected: readonly number[],
    { gateway = [], isApart = false }: {
      gateway?: readonly Parameters<typeof gatewayCall>[0][];
      isApart?: boolean;
    } = {},
  ) =>
    Deno.test({
      name: `${name} (${kind.name})`,
      ignore: kind.ignore,
      async fn() {
        await using database = await kind.create();
        const store = await database.open();
        const ctx = await createBooking(store, { clock: fixedClock(FIXTURE_AT) });
        const reader = createReader();
        const sent = requests.map((records) => ({ records, reader: isApart ? createReader() : reader }));
        for (const { records, reader } of [...sent, ...sent]) {
          const sightings = reader.read(records).calls.map(({ sighting, origin }) => ({
            ...sighting,
            of: origin,
          }));
          await sightCalls(ctx, { source: "otlp", name: "otlp", agentId: "otlp" }, sightings);
        }
        for (const row of gateway) await bookLooseCalls(ctx, [gatewayCall(row)]);
        const { model_calls, input_tokens, output_tokens } = await readCostTotal(store, {});
        assert.deepEqual([model_calls, input_tokens, output_tokens], expected);
        await ctx.rollUps.ended();
      },
    });

  Deno.test({
    name: `a record of Claude Code states the account and the request of its call (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const store = await database.open();
      const ctx = await createBooking(store, { clock: fixedClock(FIXTURE_AT) });
      const record = LOGS["Claude Code"]!(0);
      (record.attributes as Map<string, unknown>).set("organization.id", "org-1").set(
        "request_id",
        "req_0123456789ab",
      );
      const [{ sighting, origin }] = createReader().read([record]).calls as [CallRecord];
      for (let time = 0; time < 2; time++) {
        await sightCalls(ctx, { source: "otlp", name: "otlp", agentId: "otlp" }, [{
          ...sighting,
          of: origin,
        }]);
      }
      const { rows } = await store.read({
        sql:
          "SELECT request_id, u.provider, credential, account FROM calls JOIN upstreams u USING (upstream_id)",
      });
      assert.deepEqual(rows, [["req_0123456789ab", "anthropic", null, "org-1"]]);
      await ctx.rollUps.ended();
    },
  });

  for (const names of ["s1 f1 s2 f2", "s1 s2 f1 f2", "f1 s1 s2 f2", "f1 f2 s2 s1"]) {
    const spans = names.split(" ").map((name) =>
      told(name, name.startsWith("s") ? `f${name[1]}` : "", { traceId: trace(name[1]!) })
    );
    const apart = names.split(" ").map((name) => told(name, "", { traceId: trace(name) }));
    test(`two equal calls at once are two: ${names} in one request`, [spans], [2, 200, 10]);
    test(
      `two equal calls at once are two: ${names} one by one`,
      spans.map((one) => [one]),
      [2, 200, 10],
    );
    test(`two equal calls at once are two: ${names} in traces of their own`, [apart], [2, 200, 10]);
  }

  const processes = ["1", "2"].map((pid, index) =>
    told(
      index === 0 ? "f1" : "s2",
      "",
      {
        traceId: trace(pid),
        resource: new Map([["service.name", "shop"], ["process.pid", pid]]),
      } as Parameters<typeof call>[4],
    )
  );
  test("equal calls of two processes are two", [processes], [2, 200, 10]);

  const many = Array.from({ length: 8 }, (_, index) => String(index));
  test(
    "eight equal calls at once are eight, though both instrumentations write traces of their own",
    [[
      ...many.map((name) => told(`f${name}`, "", { traceId: trace(`a${name}`) })),
      ...many.map((name) => told(`s${name}`, "", { traceId: trace(`b${name}`) })),
    ]],
    [8, 800, 40],
  );

  const attempts = [
    call("s1", "f", 100, 3, { scope: "sdk", startsAt: AT, endsAt: AT + 500 }),
    call("s2", "f", 100, 50, { scope: "sdk", startsAt: AT + 600, endsAt: AT + 1_100 }),
    call("f", "", 100, 50, { scope: "framework", startsAt: AT, endsAt: AT + 1_200 }),
  ];
  test("two attempts within one span are two calls, each with its output", [attempts], [2, 200, 53]);

  for (const [of, record] of Object.entries(LOGS)) {
    const logs = [0, 1, 2].map(record);
    test(`logs of ${of} whose ids are all the same are as many calls`, [logs], [3, 303, 15]);
  }

  const hourly = [0, 1, 2].map((hour) =>
    told(`s${hour}`, "", {
      traceId: trace(`c${hour}`),
      startsAt: AT - hour * 3_600_000,
      endsAt: AT - hour * 3_600_000 + 500,
      ...withId("chatcmpl-123"),
    })
  );
  const zeros = [0, 1, 2].map((index) =>
    call(`s${index}`, "", 100 + index, 5, {
      traceId: trace(`d${index}`),
      startsAt: AT,
      endsAt: AT + 500,
      ...withId("00000000-0000-0000-0000-000000000000"),
    })
  );
  test("calls with an id of zeros are as many", [zeros], [3, 303, 15]);
  test("equal calls hours apart with one id for all answers are as many", [hourly], [3, 300, 15]);
  const row = {
    callId: "call_1",
    at: AT,
    durationMs: 500,
    provider: "openai",
    model: "gpt-5-mini",
    responseId: "chatcmpl-123",
    usage: usageOf({ inputTokens: 100, outputTokens: 5 }),
    sessionId: null,
  };
  test(
    "the gateway's row takes back only the call at its time of those with one id",
    [hourly],
    [3, 300, 15],
    {
      gateway: [row],
    },
  );

  const parallel = [1, 2].flatMap((index) => {
    const at = AT + index * 300;
    return [
      log("gemini_cli.api_response", {
        scope: "gemini-cli",
        at,
        attributes: { "session.id": "s", model: "gemini-3", input_token_count: 100, output_token_count: 5 },
      }),
      log("gen_ai.client.inference.operation.details", {
        scope: "gemini-cli",
        at: at + 1,
        attributes: {
          "session.id": "s",
          "gen_ai.request.model": "gemini-3",
          "gen_ai.response.id": `answer_00000${index}a`,
          "gen_ai.usage.input_tokens": 100,
          "gen_ai.usage.output_tokens": 5,
        },
      }),
    ];
  });
  test("equal calls of Gemini CLI within a second are two", [parallel], [2, 200, 10]);
  test(
    "equal calls of Gemini CLI within a second are two, shuffled",
    [[3, 0, 1, 2].map((i) => parallel[i]!)],
    [
      2,
      200,
      10,
    ],
  );
  for (const records of [parallel.slice(0, 2), parallel.slice(0, 2).reverse()]) {
    test(
      `two logs of a call of Gemini CLI on two servers are one: ${records[0]!.name} first`,
      records.map((one) => [one]),
      [1, 100, 5],
      { isApart: true },
    );
  }

  // Of a loop it tells the last call, which the SDK tells, too; the SDK tells all.
  const volt = (name: string, parent: string, attributes: Record<string, string | number>) =>
    span(name, parent, { scope: "@voltagent/core", startsAt: AT, endsAt: AT + 2_000, attributes });
  const last = volt("l", "agent", {
    "llm.operation": "streamText",
    "llm.model": "gpt-5-mini",
    "llm.usage.prompt_tokens": 300,
    "llm.usage.completion_tokens": 7,
  });
  const sum = volt("agent", "", {
    "entity.type": "agent",
    "agent.state": "done",
    "usage.prompt_tokens": 600,
    "usage.completion_tokens": 21,
  });
  for (const parent of ["agent", "l"]) {
    const loop = [
      call("s1", parent, 100, 5, { scope: "sdk" }),
      call("s2", parent, 200, 9, { scope: "sdk" }),
      call("s3", "l", 300, 7, { scope: "sdk" }),
    ].map((one) => ({ ...one, startsAt: AT, endsAt: AT + 500 }));
    for (const records of [[...loop, last, sum], [sum, last, ...loop]]) {
      test(
        `the rest of an agent's sum is without the calls of another instrumentation within ${parent}: ${
          records[0]!.name
        } first`,
        [records],
        [3, 600, 21],
      );
    }
  }
}
