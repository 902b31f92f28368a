import { createHash } from "node:crypto";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "./any_character.ts";
import { toCanonicalText } from "../../src/kernel/json/canonical_json.ts";
import { snapshotOf } from "./snapshots.ts";

/** A document of any shape. */
// deno-lint-ignore no-explicit-any -- a test reaches into it, and puts in what does not belong there
export type LooseDocument = Record<string, any>;

/** A document that has every field of the format, and unknown ones. */
export function fullSnapshot(): LooseDocument {
  const at = "2026-11-20T08:00:00.000Z";
  const providerOptions = { openai: { itemId: "rs_1", deep: [{ a: 1 }] } };
  const call = { toolCallId: "call_1", toolName: "weather" };
  const messages = [
    { id: "msg_1", created_at: at, role: "user", content: "hello", providerOptions, mood: "curious" },
    {
      id: "msg_2",
      created_at: at,
      role: "user",
      content: [
        { type: "text", text: "look", providerOptions },
        { type: "image", image: "aGk=", mediaType: "image/png", providerOptions },
        { type: "file", data: { type: "url", url: "https://a.example/b" }, mediaType: "a/b", filename: "b" },
      ],
    },
    {
      id: "msg_3",
      created_at: at,
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "c2ln" } } },
        { type: "reasoning-file", data: "aGk=", mediaType: "image/png" },
        { type: "tool-call", ...call, input: { place: { city: "Oslo", at: [59, { b: 2 }] } } },
        { type: "tool-call", toolCallId: "call_2", toolName: "ask", input: "x", providerExecuted: true },
        { type: "tool-result", toolCallId: "call_2", toolName: "ask", output: { type: "json", value: [1] } },
        { type: "tool-approval-request", approvalId: "ok_1", toolCallId: "call_1" },
        { type: "new-in-2031", what: ["ever"] },
        { type: "text", text: "wait" },
      ],
    },
    {
      id: "msg_4",
      created_at: at,
      role: "tool",
      content: [
        { type: "tool-approval-response", approvalId: "ok_1", approved: true },
        { type: "tool-result", ...call, output: { type: "text", value: "cold" }, providerOptions },
      ],
    },
    { id: "msg_5", created_at: at, role: "assistant", content: "It is cold." },
  ];
  const event = { agent_id: "agent", session_id: "ses", run_id: "run_1", call_id: null };
  const token_usage = {
    input_tokens: 10,
    output_tokens: 2,
    total_tokens: 12,
    cost_usd: 0.000012,
    model: "demo:echo",
    cache_read_tokens: 1,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    model_calls: 2,
    unpriced_calls: 0,
    extra: { deep: [1] },
  };
  const agent = {
    agent_id: "agent",
    name: "agent",
    model: "demo:echo",
    system_prompt: "Be brief",
    cost_budget_usd: 0.5,
    budget_mode: "strict",
    allow_unpriced: false,
    max_steps: 5,
    max_output_tokens: 100,
    tools: ["calculator"],
    extra: { deep: [1] },
  };
  return {
    ...snapshotOf({}, { messages, token_usage, extra: { deep: [{ a: 1 }] } }),
    events: [
      { ...event, seq: 1, type: "session.created", at, run_id: null, payload: {} },
      { ...event, seq: 2, type: "run.started", at, payload: { deep: [{ a: 1 }] }, imported_from: "staging" },
    ],
    agent,
    extra: { deep: [{ a: 1 }] },
  };
}

/** A document as an export writes it: canonical JSON, closed by its integrity. */
export function sealedText(document: LooseDocument): string {
  const { integrity: _integrity, ...rest } = document;
  const text = toCanonicalText(rest);
  const integrity = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  return `${text.slice(0, -1)},"integrity":"${integrity}"}`;
}

/** Text of every kind: any code point, and known troublemakers. */
export const hardText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom(
    "",
    "\0",
    "a\0b",
    "\u2028\u2029",
    "\ufeff",
    "\u001f\u007f\u0085",
    "👩‍👩‍👧",
    "שָׁלוֹם",
    "e\u0301",
    "𝔘",
  ),
  fc.constantFrom(
    "\\u0000",
    "\\ud800",
    '"\\/',
    "\ufffe\uffff",
    "\r\n\t",
    "null",
    "[",
    "}",
    "=",
    "a=b",
    "x y",
    "'; --",
  ),
);
/** None ends with a backslash, for which V8 may take others when a test parses them: see `parseSlowly`. */
const hardKey = fc.oneof(
  hardText,
  fc.constantFrom("10", "2", "-1", "constructor", "toString", "toJSON", "valueOf", "hasOwnProperty", "then"),
).filter((key) => key !== "__proto__" && !key.endsWith("\\"));
const hardNumber = fc.oneof(
  fc.constantFrom(
    -0,
    5e-324,
    Number.MAX_VALUE,
    0.1,
    -1e-7,
    1e21,
    2 ** 53,
    2 ** 53 + 2,
    -(2 ** 64),
    123456789.125,
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
);
/** Any JSON value, with numbers such as -0 and those at the ends of the range. */
export const hardJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.oneof(fc.constantFrom(null, true, false), hardNumber, hardText),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(hardKey, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

const knownKeys = new Set<string>();
JSON.stringify(fullSnapshot(), (key, value) => (knownKeys.add(key), value));
const extras = fc.dictionary(hardKey.filter((key) => !knownKeys.has(key)), hardJson, {
  maxKeys: 2,
  noNullPrototype: true,
});
const anyObject = fc.dictionary(hardKey, hardJson, { maxKeys: 2, noNullPrototype: true });
const providerOptions = fc.oneof(
  fc.dictionary(hardKey, anyObject, { maxKeys: 2, noNullPrototype: true }),
  hardText.map((signature) => ({ anthropic: { signature } })),
);

/** An object of known fields, some of which may be missing, and of unknown ones. */
function objectOf(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
): fc.Arbitrary<LooseDocument> {
  const known = fc.record(
    { ...required, ...optional },
    { requiredKeys: Object.keys(required), noNullPrototype: true },
  );
  return fc.tuple(extras, known).map(([unknown, fields]) => ({ ...unknown, ...fields }));
}

const some = hardText.map((text) => text || "some");
const kind = (type: string) => ({ type: fc.constant(type) });
const partOf = (
  type: string,
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
) => objectOf({ ...kind(type), ...required }, { providerOptions, ...optional });
/** A URL, without the second that `fc.webUrl()` takes to list all escaped characters. */
const anyUrl = fc.tuple(fc.domain(), hardText).map(([host, path]) =>
  `https://${host}/${encodeURIComponent(path.toWellFormed())}`
);
const media = fc.oneof(
  fc.base64String(),
  anyUrl,
  objectOf({ ...kind("url"), url: anyUrl }),
  objectOf({ ...kind("data"), data: fc.base64String() }),
  objectOf({ ...kind("reference"), reference: anyObject }),
);
const toolOutput = fc.oneof(
  ...["text", "error-text"].map((type) => objectOf({ ...kind(type), value: hardText }, { providerOptions })),
  ...["json", "error-json"].map((type) => objectOf({ ...kind(type), value: hardJson }, { providerOptions })),
  objectOf({
    ...kind("content"),
    value: fc.array(
      fc.oneof(objectOf({ ...kind("text"), text: hardText }), objectOf({ ...kind("media"), data: media })),
      { maxLength: 2 },
    ),
  }),
  objectOf(kind("execution-denied"), { reason: hardText }),
  objectOf({ type: some }),
);
const text = partOf("text", { text: hardText });
const file = partOf("file", { data: media, mediaType: some }, { filename: hardText });
const unknownPart = objectOf({
  type: fc.oneof(fc.constantFrom("custom", "source", "video"), hardText.map((type) => `x${type}`)),
});
const userPart = fc.oneof(text, partOf("image", { image: media }, { mediaType: some }), file, unknownPart);
const assistantPart = fc.oneof(
  text,
  file,
  partOf("reasoning", { text: hardText }),
  partOf("reasoning-file", { data: media, mediaType: some }),
  partOf("tool-approval-request", { approvalId: some, toolCallId: some }),
  unknownPart,
);

/** A time in UTC in every notation that the format accepts. */
export const utcTime = fc.oneof(
  fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
    .chain((date) => {
      const seconds = date.toISOString().slice(0, 19);
      return fc.constantFrom("Z", ".5Z", ".123456789Z", "+00:00", ".000+00:00").map((end) => seconds + end);
    }),
  fc.constantFrom("0000-02-29T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T23:59:59.999Z"),
);
const messageId = fc.oneof(some, fc.constantFrom("x".repeat(256), "😀".repeat(256))).filter((id) =>
  /^[^\p{Cc}]{1,256}$/u.test(id)
);

function messageOf(role: string, content: fc.Arbitrary<unknown>): fc.Arbitrary<LooseDocument> {
  return objectOf(
    { role: fc.constant(role), content },
    { id: messageId, created_at: utcTime, providerOptions },
  );
}

/** Tool calls, some of them executed by the provider, and the results of the others. */
const toolStep = fc.array(
  fc.record({
    call: partOf("tool-call", { toolCallId: some, toolName: some, input: hardJson }),
    result: partOf("tool-result", { output: toolOutput }),
    providerExecuted: fc.boolean(),
  }),
  { minLength: 1, maxLength: 2 },
).chain((steps) => {
  const calls = steps.flatMap(({ call, result: { ...result }, providerExecuted }) => {
    const { toolCallId, toolName } = call;
    return providerExecuted ? [{ ...call, providerExecuted }, { ...result, toolCallId, toolName }] : [call];
  });
  const results = steps.filter((step) => !step.providerExecuted).map(({ call, result }) => {
    const { toolCallId, toolName } = call;
    return { ...result, toolCallId, toolName };
  });
  const approval = partOf("tool-approval-response", { approvalId: some, approved: fc.boolean() });
  return fc.tuple(
    messageOf("assistant", fc.array(assistantPart, { maxLength: 1 }).map((parts) => [...parts, ...calls])),
    messageOf("tool", fc.array(approval, { maxLength: 1 }).map((parts) => [...parts, ...results])),
  );
});

const messages = fc.array(
  fc.oneof(
    messageOf("user", fc.oneof(hardText, fc.array(userPart, { maxLength: 3 }))).map((message) => [message]),
    messageOf("assistant", fc.oneof(hardText, fc.array(assistantPart, { maxLength: 3 }))).map((one) => [one]),
    toolStep,
  ),
  { maxLength: 4 },
).map((turns) => turns.flat());

const count = fc.oneof(fc.nat(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER));
const orNull = (value: fc.Arbitrary<unknown>) => fc.option(value, { freq: 3 });
const tokenUsage = objectOf({
  input_tokens: count,
  output_tokens: count,
  total_tokens: count,
  cost_usd: orNull(fc.double({ min: 0, max: 1e9, noNaN: true })),
  model: orNull(hardText),
}, { cache_read_tokens: count, model_calls: count });
const event = objectOf({
  seq: orNull(count),
  type: some,
  at: utcTime,
  agent_id: hardText,
  session_id: orNull(hardText),
  run_id: orNull(hardText),
  call_id: orNull(hardText),
  payload: anyObject,
}, { imported_from: hardText });
const agent = objectOf({
  agent_id: fc.constant("agent"),
  name: fc.constant("agent"),
  model: hardText.map((model) => `m${model.replace(/\p{Cc}/gu, "")}`),
  system_prompt: hardText.map((prompt) => prompt.replaceAll("\0", "")),
  cost_budget_usd: orNull(fc.nat({ max: 2 ** 31 - 1 }).map((nano) => nano / 1e9)),
  budget_mode: fc.constantFrom("stop", "strict"),
  allow_unpriced: fc.boolean(),
  max_steps: fc.integer({ min: 1, max: 1000 }),
  max_output_tokens: orNull(fc.integer({ min: 1, max: 10_000_000 })),
  tools: fc.array(hardText, { maxLength: 2 }),
}, { created_at: hardJson });

/** Any valid document, without its integrity; an agent in it is defined in full. */
export const anySnapshot: fc.Arbitrary<LooseDocument> = objectOf({
  schema_version: fc.constant(1),
  agent_id: fc.constant("agent"),
  session_id: fc.constant("ses"),
  state: objectOf({
    messages,
    status: fc.constantFrom("idle", "running", "completed", "failed", "budget_exceeded", "interrupted"),
  }, { token_usage: tokenUsage }),
  event_log_count: count,
  tags: fc.dictionary(hardKey.map((key) => key || "some"), hardText, { maxKeys: 3, noNullPrototype: true }),
  source_environment: hardText,
  exported_at: utcTime,
}, { agent, events: fc.array(event, { maxLength: 3 }) });

/** Returns a value as JSON has it: there, -0 is 0 (RFC 8785). */
export const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** Returns the part of a document that belongs to the session, in any environment. */
export function lasting(document: LooseDocument): LooseDocument {
  const {
    exported_at: _exportedAt,
    source_environment: _source,
    event_log_count: _count,
    events: _events,
    integrity: _integrity,
    ...rest
  } = plain(document);
  const { token_usage: _usage, ...state } = rest.state;
  return { ...rest, state };
}
