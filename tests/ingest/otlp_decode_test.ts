import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { decodeJson, decodeProtobuf } from "../../src/ingest/otlp/decode/mod.ts";
import { READ_ATTRIBUTES } from "../../src/ingest/otlp/dialects/registry.ts";
import type { TelemetryRecord } from "../../src/ingest/otlp/records.ts";
import { encodeOtlp } from "../harness/otlp_messages.ts";
import { anyCharacter } from "../harness/any_character.ts";

/** Decodes as a whole. */
function decode(decoding: ReturnType<typeof decodeJson>) {
  for (;;) {
    const { done, value } = decoding.next();
    if (done) return value;
  }
}

/** Every attribute is read, of any name. */
const ALL = { has: () => true };
const fromJson = (signal: "traces" | "logs", request: unknown) =>
  decode(decodeJson(request, signal, ALL)).records;
const fromBytes = (signal: "traces" | "logs", bytes: Uint8Array) =>
  decode(decodeProtobuf(bytes, signal, ALL)).records;

Deno.test("the attributes that the readers of records name are among those that are read", async () => {
  const folder = new URL("../../src/ingest/otlp/", import.meta.url);
  const named: string[] = [];
  for (const file of ["call_records.ts", "read_records.ts", "decode/decoded.ts"]) {
    const source = await Deno.readTextFile(new URL(file, folder));
    named.push(...[...source.matchAll(/attributes\.(?:get|has)\("([^"]+)"\)/g)].map(([, name]) => name!));
  }
  assert.ok(named.includes("session.id"), `${named}`);
  assert.deepEqual(named.filter((name) => !READ_ATTRIBUTES.has(name)), []);
});

const TRACE = "5b8efff798038103d269b633813fc60c";
const SPAN = "eee19b7ec3c1b174";

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

const spans = (...given: object[]) => ({
  resourceSpans: [{
    resource: { attributes: [text("service.name", "shop")] },
    scopeSpans: [{ scope: { name: "ai", version: "7.0.1", attributes: [text("a", "b")] }, spans: given }],
  }],
});

const logs = (...given: object[]) => ({
  resourceLogs: [{ resource: {}, scopeLogs: [{ scope: { name: "cli" }, logRecords: given }] }],
});

const FULL = {
  traceId: TRACE,
  spanId: SPAN,
  parentSpanId: "00f067aa0ba902b7",
  traceState: "ot=th:8",
  name: "chat gpt-6",
  kind: 3,
  startTimeUnixNano: "1764000000000000000",
  endTimeUnixNano: "1764000001500250000",
  attributes: [
    text("gen_ai.operation.name", "chat"),
    { key: "tokens", value: { intValue: "1200" } },
    { key: "negative", value: { intValue: "-5" } },
    { key: "huge", value: { intValue: "9223372036854775807" } },
    { key: "cost", value: { doubleValue: 0.25 } },
    { key: "stream", value: { boolValue: true } },
    { key: "reasons", value: { arrayValue: { values: [{ stringValue: "stop" }, {}] } } },
    { key: "usage", value: { kvlistValue: { values: [text("__proto__", "x"), text("y", "z")] } } },
    { key: "none", value: {} },
    { key: "bytes", value: { bytesValue: "AAAA" } },
    text("twice", "first"),
    text("twice", "last"),
  ],
  events: [{
    timeUnixNano: "1764000000100000000",
    name: "exception",
    attributes: [text("exception.type", "E")],
  }],
  status: { code: 2, message: "broke off" },
  flags: 0x101,
};

for (
  const [form, read] of [
    ["JSON", fromJson],
    [
      "protobuf",
      (signal: "traces" | "logs", request: unknown) => fromBytes(signal, encodeOtlp(signal, request)),
    ],
  ] as const
) {
  Deno.test(`a span of ${form} is read with all that it says`, () => {
    const [span, ...others] = read("traces", spans(FULL));
    assert.equal(others.length, 0);
    assert.ok(span?.signal === "span");
    const { attributes, resource, scope, ...rest } = span;
    assert.deepEqual(rest, {
      signal: "span",
      traceId: TRACE,
      spanId: SPAN,
      parentSpanId: "00f067aa0ba902b7",
      traceState: "ot=th:8",
      name: "chat gpt-6",
      startsAt: 1764000000000,
      endsAt: 1764000001500.25,
      hasFailed: true,
    });
    assert.deepEqual([...resource], [["service.name", "shop"]]);
    assert.deepEqual(scope, { name: "ai", version: "7.0.1" });
    assert.deepEqual(plain([...attributes]), [
      ["gen_ai.operation.name", "chat"],
      ["tokens", 1200],
      ["negative", -5],
      ["huge", 9223372036854775807n],
      ["cost", 0.25],
      ["stream", true],
      ["reasons", ["stop", null]],
      ["usage", [["__proto__", "x"], ["y", "z"]]],
      ["none", null],
      ["twice", "last"],
    ]);
  });

  Deno.test(`a log record of ${form} has its own name and time, else those of its attributes and its observation`, () => {
    const [own, other] = read(
      "logs",
      logs(
        {
          timeUnixNano: "1764000000000000000",
          eventName: "a",
          traceId: TRACE,
          spanId: SPAN,
          body: { stringValue: "b" },
        },
        { observedTimeUnixNano: "1764000002000000000", attributes: [text("event.name", "c")] },
      ),
    );
    assert.ok(own?.signal === "log" && other?.signal === "log");
    assert.deepEqual([own.name, own.at, own.traceId, own.spanId], ["a", 1764000000000, TRACE, SPAN]);
    assert.deepEqual([other.name, other.at, other.traceId], ["c", 1764000002000, ""]);
  });

  Deno.test(`ids of ${form} that are none, and times of 0, are missing`, () => {
    const [span] = read("traces", spans({ traceId: "00".repeat(16), spanId: "ab", startTimeUnixNano: "0" }));
    assert.ok(span?.signal === "span");
    assert.deepEqual([span.traceId, span.spanId, span.parentSpanId], ["", "", ""]);
    assert.deepEqual([span.startsAt, span.endsAt], [NaN, NaN]);
  });

  Deno.test(`long attributes of ${form} are empty, unless their fields are read`, () => {
    const long = "x".repeat(5_000);
    const [span] = read(
      "traces",
      spans({ attributes: [text("input.value", long), text("output.value", long), text("short", "x")] }),
    );
    assert.deepEqual([...span!.attributes], [["input.value", ""], ["output.value", long], ["short", "x"]]);
  });

  Deno.test(`deep values of ${form} are null beyond a depth, and many are left out`, () => {
    let deep: object = { stringValue: "deep" };
    for (let depth = 0; depth < 40; depth++) deep = { arrayValue: { values: [deep] } };
    const many = Array.from({ length: 20_000 }, (_, index) => text(`a${index}`, "b"));
    const [span, second] = read(
      "traces",
      spans({ attributes: [{ key: "deep", value: deep }, ...many] }, { attributes: [text("a", "b")] }),
    );
    assert.match(JSON.stringify(span!.attributes.get("deep")), /^\[+null\]+$/);
    assert.ok(span!.attributes.size <= 10_000);
    assert.deepEqual([...second!.attributes], [["a", "b"]]);
  });
}

Deno.test("of a request with too many records the first ones are read, and the others counted", () => {
  const request = spans(...Array.from({ length: 10_007 }, () => ({ spanId: SPAN })));
  for (
    const decoding of [decodeJson(request, "traces"), decodeProtobuf(encodeOtlp("traces", request), "traces")]
  ) {
    const { records, beyond } = decode(decoding);
    assert.deepEqual([records.length, beyond], [10_000, 7]);
  }
});

Deno.test("names in snake_case, numbers as texts and the name of a failure are read in JSON too", () => {
  const [span] = fromJson("traces", {
    resource_spans: [{
      scope_spans: [{
        spans: [{
          trace_id: TRACE.toUpperCase(),
          span_id: SPAN,
          kind: "SPAN_KIND_CLIENT",
          status: { code: "STATUS_CODE_ERROR" },
          start_time_unix_nano: 1764000000000000000,
          attributes: [{ key: "n", value: { int_value: 5 } }, { key: "d", value: { doubleValue: "NaN" } }],
          unknown: { anything: [1] },
        }],
      }],
    }],
  });
  assert.ok(span?.signal === "span");
  assert.deepEqual(
    [span.traceId, span.hasFailed, span.startsAt, ...span.attributes.values()],
    [TRACE, true, 1764000000000, 5, NaN],
  );
});

Deno.test("records of another signal are refused with the path that takes them", () => {
  const log = encodeOtlp("logs", logs({ timeUnixNano: "1764000000000000000" }));
  const span = encodeOtlp("traces", spans(FULL));
  assert.throws(() => fromBytes("traces", log), /log records, not spans; send them to \/v1\/logs/);
  assert.throws(() => fromBytes("logs", span), /send spans to \/v1\/traces/);
  assert.throws(() => fromJson("traces", logs()), /log records; send them to \/v1\/logs/);
  assert.throws(() => fromJson("logs", spans()), /spans; send them to \/v1\/traces/);
  assert.throws(() => fromJson("traces", { resourceMetrics: [] }), /it has metrics/);
});

Deno.test("the resource and the scope of records are read wherever they stand in their group", () => {
  // Fields may come in any order: here a group's spans before its resource.
  const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const field = (tag: number, bytes: Uint8Array) => Uint8Array.from([tag, bytes.length, ...bytes]);
  const name = new TextEncoder().encode("later");
  const attribute = join(field(0x0a, name), field(0x12, field(0x0a, name)));
  const scoped = join(field(0x12, new Uint8Array()), field(0x0a, field(0x0a, name)));
  const group = join(field(0x12, scoped), field(0x0a, field(0x0a, attribute)));
  const [span] = fromBytes("traces", field(0x0a, group));
  assert.deepEqual([...span!.resource], [["later", "later"]]);
  assert.equal(span!.scope.name, "later");
});

Deno.test("texts that are not UTF-8 are read with replacements", () => {
  const bytes = encodeOtlp("traces", spans({ name: "cut here!" }));
  const at = bytes.findIndex((byte, index) => byte === 0x21 && bytes[index - 1] === 0x65);
  bytes[at] = 0xc3;
  const [span] = fromBytes("traces", bytes);
  assert.ok(span?.signal === "span");
  assert.equal(span.name, "cut here\ufffd");
});

const anyValue = fc.letrec<{ value: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.record({ stringValue: fc.string({ unit: anyCharacter, maxLength: 100 }) }),
    fc.record({ boolValue: fc.boolean() }),
    fc.record({ intValue: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String) }),
    fc.record({ doubleValue: fc.double({ noNaN: true, noDefaultInfinity: true }) }),
    fc.record({ arrayValue: fc.record({ values: fc.array(tie("value"), { maxLength: 4 }) }) }),
    fc.record({
      kvlistValue: fc.record({
        values: fc.array(fc.record({ key: fc.string(), value: tie("value") }), { maxLength: 4 }),
      }),
    }),
    fc.constant({}),
  ),
})).value;
const anyHex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((id) =>
    [...id].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  );
const anyAttributes = fc.array(
  fc.record({ key: fc.string({ unit: anyCharacter, maxLength: 80 }), value: anyValue }),
  {
    maxLength: 8,
  },
);
const anyNano = fc.bigInt({ min: 0n, max: 2n ** 63n }).map(String);
const anySpan = fc.record({
  traceId: anyHex(16),
  spanId: anyHex(8),
  parentSpanId: anyHex(8),
  traceState: fc.string(),
  name: fc.string({ unit: anyCharacter }),
  kind: fc.integer({ min: 0, max: 5 }),
  startTimeUnixNano: anyNano,
  endTimeUnixNano: anyNano,
  attributes: anyAttributes,
  events: fc.array(fc.record({ timeUnixNano: anyNano, name: fc.string(), attributes: anyAttributes }), {
    maxLength: 3,
  }),
  status: fc.record({ code: fc.integer({ min: 0, max: 2 }), message: fc.string() }),
  flags: fc.integer({ min: 0, max: 0xffff }),
  droppedAttributesCount: fc.nat(),
}, { requiredKeys: [] });

Deno.test("protobuf, as another library encodes it, says what the same JSON says", () => {
  fc.assert(
    fc.property(fc.array(anySpan, { maxLength: 4 }), (given) => {
      const request = spans(...given);
      assert.deepEqual(
        comparable(fromBytes("traces", encodeOtlp("traces", request))),
        comparable(fromJson("traces", request)),
      );
    }),
    { numRuns: 200 },
  );
});

Deno.test("bytes that are changed or cut are decoded or refused as invalid, and never fail otherwise", () => {
  const whole = encodeOtlp("traces", spans(FULL, FULL, FULL));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 })), { maxLength: 8 }),
      fc.nat({ max: whole.length }),
      (changes, length) => {
        const bytes = whole.slice(0, length);
        for (const [at, byte] of changes) if (at < length) bytes[at] = byte;
        try {
          fromBytes("traces", bytes);
          fromBytes("logs", bytes);
        } catch (error) {
          assert.match(String(error), /^PurserError: Cannot read the body as protobuf: /);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

/** Returns records with their maps as lists, and objects as lists of their members. */
const comparable = (records: readonly TelemetryRecord[]) => records.map((record) => plain(record));

function plain(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([name, field]) => [name, plain(field)]);
}
