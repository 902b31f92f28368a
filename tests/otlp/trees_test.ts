import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import type { Sighting } from "../../src/calls/mod.ts";
import { DIALECTS } from "../../src/ingest/otlp/dialects/registry.ts";
import { createReader } from "../../src/ingest/otlp/read_records.ts";
import type {
  AttributeValue,
  LogRecord,
  SpanRecord,
  TelemetryRecord,
} from "../../src/ingest/otlp/records.ts";
import { readRecordings, recordsOf } from "../harness/otlp_recordings.ts";
import { idOf, span } from "../harness/telemetry_records.ts";
import { cases } from "../harness/thorough.ts";

/** Trees of spans of any dialect, and records that were damaged on their way. */

type Attributes = Record<string, AttributeValue>;

/** The spans of a dialect: of a call with some counts, of an agent with a sum, of a step. */
interface Forms {
  scope: string;
  call(input: number, output: number, id: string): Attributes;
  /** The sums that an agent states; undefined for one that states none. */
  agent(name: string, input: number, output: number): Attributes;
  step: Attributes;
}

const conventions = (scope: string): Forms => ({
  scope,
  call: (input, output, id) => ({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-5-mini",
    ...(id && { "gen_ai.response.id": id }),
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
  }),
  agent: (name, input, output) => ({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": name,
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
  }),
  step: { "gen_ai.operation.name": "execute_tool" },
});

const openInference = (scope: string): Forms => ({
  scope,
  call: (input, output, id) => ({
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-5-mini",
    ...(id && { "output.value": JSON.stringify({ id }) }),
    "llm.token_count.prompt": input,
    "llm.token_count.completion": output,
  }),
  agent: (name, input, output) => ({
    "openinference.span.kind": "AGENT",
    "agent.name": name,
    "llm.token_count.prompt": input,
    "llm.token_count.completion": output,
  }),
  step: { "openinference.span.kind": "CHAIN" },
});

const FORMS: readonly Forms[] = [
  ...[
    "gen_ai",
    "pydantic-ai",
    "strands.telemetry.tracer",
    "gcp.vertex.agent",
    "agent_framework",
    "@mastra/otel-exporter",
  ]
    .map(conventions),
  ...[
    "opentelemetry.instrumentation.openai_v2",
    "opentelemetry.instrumentation.langchain",
    "openlit.x",
    "acme",
  ]
    .map(conventions),
  ...["openinference.instrumentation.openai", "openinference.instrumentation.smolagents"].map(openInference),
  {
    scope: "ai",
    call: (input, output, id) => ({
      "ai.operationId": "ai.generateText.doGenerate",
      "ai.model.id": "gpt-5-mini",
      ...(id && { "ai.response.id": id }),
      "ai.usage.inputTokens": input,
      "ai.usage.outputTokens": output,
    }),
    agent: (name, input, output) => ({
      "ai.operationId": "ai.generateText",
      "ai.telemetry.functionId": name,
      "ai.usage.inputTokens": input,
      "ai.usage.outputTokens": output,
    }),
    step: { "ai.operationId": "ai.toolCall" },
  },
];

/** A node of a tree: an agent and a step hold others, a retry an attempt that has failed and one that has not. */
type Tree =
  | { is: "call" | "retry"; input: number; output: number; hasId: boolean }
  | { is: "agent" | "step"; within: Tree[] };

const counts = { input: fc.integer({ min: 1, max: 50_000 }), output: fc.integer({ min: 0, max: 5_000 }) };
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.record({ is: fc.constantFrom("call" as const, "retry" as const), ...counts, hasId: fc.boolean() }),
    fc.record({
      is: fc.constantFrom("agent" as const, "step" as const),
      within: fc.array(tie("tree"), { minLength: 1, maxLength: 4 }),
    }),
  ),
}));

interface Spans {
  spans: SpanRecord[];
  input: number;
  output: number;
  calls: number;
  failed: number;
}

/** Grows the spans of a tree; those of agents state the sum of what lies within. */
function grow(node: Tree, forms: Forms, parent: string, next: () => string): Spans {
  const name = next();
  const make = (attributes: Attributes, more: Partial<SpanRecord> = {}, of = name) => ({
    ...span(of, parent, { scope: forms.scope, attributes }),
    ...more,
  });
  if (!("within" in node)) {
    const { input, output, hasId } = node;
    const attributes = forms.call(input, output, hasId ? `resp_${name.padStart(24, "0")}` : "");
    const spans = [make(attributes)];
    if (node.is === "retry") {
      const failed = Object.entries(attributes).filter(([key]) => !/usage|token_count/.test(key));
      spans.unshift(make(Object.fromEntries(failed), { hasFailed: true }, next()));
    }
    return { spans, input, output, calls: 1, failed: spans.length - 1 };
  }
  const within = node.within.map((one) => grow(one, forms, name, next));
  const sum = (key: "input" | "output" | "calls" | "failed") =>
    within.reduce((total, one) => total + one[key], 0);
  const own = node.is === "agent" ? forms.agent(name, sum("input"), sum("output")) : forms.step;
  return {
    spans: [...within.flatMap(({ spans }) => spans), make(own)],
    input: sum("input"),
    output: sum("output"),
    calls: sum("calls"),
    failed: sum("failed"),
  };
}

/** The calls that sightings are of: those with a common id are one, which the last one that knows more states. */
function callsOf(sightings: readonly Sighting[]): Sighting[] {
  const calls = new Map<string, Sighting>();
  const names = new Map<string, string>();
  for (const sighting of sightings) {
    const { ref, responseId, requestId, fingerprint } = sighting;
    const ids = [`ref ${ref}`, `response ${responseId}`, `request ${requestId}`, `fingerprint ${fingerprint}`]
      .filter((id) => !id.endsWith(" undefined"));
    const key = ids.map((id) => names.get(id)).find((name) => name !== undefined) ?? ref;
    for (const id of ids) names.set(id, key);
    calls.set(key, sighting);
  }
  return [...calls.values()];
}

Deno.test("any tree of agents, steps, retries and calls of any dialect says the sum of its calls, in any order", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...FORMS),
      tree,
      fc.array(fc.nat(40), { maxLength: 8 }),
      fc.boolean(),
      fc.infiniteStream(fc.nat()),
      (forms, root, cuts, isShuffled, keys) => {
        let count = 0;
        const grown = grow({ is: "agent", within: [root] }, forms, "", () => `${++count}`);
        const spans = isShuffled
          ? grown.spans.map((one) => [keys.next().value as number, one] as const).sort(([a], [b]) => a - b)
            .map(([, one]) => one)
          : grown.spans;
        const reader = createReader();
        const ends = [...cuts.map((cut) => Math.min(cut, spans.length)), spans.length].sort((a, b) => a - b);
        const reads = ends.map((end, index) =>
          reader.read(spans.slice(index === 0 ? 0 : ends[index - 1], end))
        );
        const calls = callsOf(reads.flatMap((read) => read.calls.map(({ sighting }) => sighting)));
        const sum = (key: "inputTokens" | "outputTokens") =>
          calls.reduce((total, { usage }) => total + usage[key], 0);
        assert.deepEqual(
          [calls.length, sum("inputTokens"), sum("outputTokens")],
          [grown.calls, grown.input, grown.output],
        );
        assert.deepEqual(reads.flatMap(({ rejected, unmetered }) => [...rejected, ...unmetered]), []);
        assert.equal(reads.reduce((total, { failed }) => total + failed, 0), grown.failed);
        // The agent is known once all have come.
        const nearest = new Map(grown.spans.map((one) => [one.spanId, one]));
        for (const { sighting } of reads.flatMap((read) => read.calls)) {
          assert.ok(nearest.has(sighting.ref.split(":")[1]!));
        }
      },
    ),
    { numRuns: cases(300) },
  );
});

const recorded = new Map<string, TelemetryRecord[]>();
for (const record of readRecordings().flatMap((recording) => recordsOf(recording).flat())) {
  const dialect = DIALECTS.find(({ scope }) => scope.test(record.scope.name))?.name;
  if (dialect === undefined) continue;
  const all = recorded.get(dialect) ?? [];
  recorded.set(dialect, all);
  if (all.length < 60) all.push(record);
}

const damagedValue: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.constantFrom<AttributeValue>(
    -1,
    1e300,
    NaN,
    Infinity,
    0.5,
    null,
    true,
    "",
    "7",
    "-7",
    "1e9",
    2n ** 63n,
    "{",
    "[[",
    "'",
  ),
  fc.integer(),
  fc.string(),
  fc.array(fc.oneof(fc.string(), fc.bigInt())),
  fc.dictionary(fc.string(), fc.string()),
);

for (const [dialect, records] of recorded) {
  Deno.test(`${dialect}: a damaged record is read, left out or refused, and nothing that can't be is booked`, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...records),
        fc.array(fc.tuple(fc.nat(60), damagedValue), { minLength: 1, maxLength: 4 }),
        fc.record({
          traceId: fc.constantFrom("", "t".repeat(32)),
          spanId: fc.constantFrom("", "s".repeat(16), idOf("x")),
          parentSpanId: fc.constantFrom("", "s".repeat(16)),
          startsAt: fc.constantFrom(NaN, 0, -1, 1e18, Date.UTC(2026, 0)),
          at: fc.constantFrom(NaN, 0, 1e18, Date.UTC(2026, 0)),
          name: fc.constantFrom("", "chat"),
        }, { requiredKeys: [] }),
        (record, changes, more) => {
          const attributes = new Map(record.attributes);
          const names = [...attributes.keys()];
          for (const [index, value] of changes) {
            if (names.length > 0) attributes.set(names[index % names.length]!, value);
          }
          const damaged = { ...record, ...more, attributes } as SpanRecord | LogRecord;
          const reader = createReader();
          const read = reader.read([record, damaged, damaged]);
          const { calls, unmetered, rollups, rejected, failed, others } = read;
          assert.ok(
            calls.length + unmetered.length + rollups.length + rejected.length + failed + others >= 3,
          );
          for (const { sighting: { usage, at, ref } } of calls) {
            for (
              const count of [
                usage.inputTokens,
                usage.outputTokens,
                usage.cacheReadTokens,
                usage.cacheWriteTokens,
              ]
            ) {
              assert.ok(Number.isSafeInteger(count) && count >= 0);
            }
            assert.ok(usage.cacheReadTokens + usage.cacheWriteTokens <= usage.inputTokens);
            assert.ok(Number.isSafeInteger(at) && at > 0 && ref !== "");
          }
          // Sent again, a call has the same name.
          assert.ok(new Set(calls.map(({ sighting }) => sighting.ref)).size <= 2);
        },
      ),
      { numRuns: cases(100) },
    );
  });
}
