import assert from "node:assert/strict";
import fc from "fast-check";
import { toCanonicalText } from "../src/canonical_json.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { dump } from "./harness/booking.ts";
import { fullSnapshot, type LooseDocument, sealedText, snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./harness/test_purser.ts";

const RESTORE = "/agents/snapshot/restore";
const MARK = "@@mark";

interface Refusal {
  status?: number;
  code?: string;
  /** Among the paths of the issues. */
  path?: string;
  detail?: RegExp;
  headers?: HeadersInit;
}

type Refuse = (body: unknown, refusal?: Refusal) => Promise<LooseDocument>;

/**
 * A test of what is refused: over a database that has the session and over one that has nothing, in earnest and
 * as a dry run. All of them have to be afterwards as they were before.
 */
function testRefusals(
  sentence: string,
  body: (refuse: Refuse) => Promise<void>,
  options?: TestOptions,
): void {
  Deno.test(sentence, async () => {
    await using empty = await openTestPurser(options);
    await using taken = await openTestPurser(options);
    await taken.api("PUT", "/agents/agent", { model: "demo:echo" });
    await taken.run({ agentId: "agent" }, "Hello", { sessionId: "ses" });
    const before = [await stateOf(empty), await stateOf(taken)];
    await body(async (document, { status = 400, code = "invalid", path, detail, headers } = {}) => {
      let problem: LooseDocument = {};
      for (const purser of [empty, taken]) {
        for (const place of [RESTORE, `${RESTORE}?dry_run=true`]) {
          const expected = { status, code, path, detail };
          problem = (await assertProblem(purser, "POST", place, document, expected, headers)).body;
          if (code === "invalid") assert.ok(problem.details.issues.length > 0);
        }
      }
      return problem;
    });
    assert.deepEqual([await stateOf(empty), await stateOf(taken)], before);
  });
}

async function stateOf({ core, published, logs }: TestPurser) {
  return {
    tables: await dump(core.store),
    published: published.length,
    errors: logs.filter(({ level }) => level === "error"),
  };
}

/** The keys of a path such as `state.messages[0].role`. */
function keysOf(path: string): (string | number)[] {
  return path.split(/[.[]/).filter((key) => key !== "").map((key) =>
    key.endsWith("]") ? Number(key.slice(0, -1)) : key
  );
}

/** A copy of a document whose value at a path is another one; undefined leaves it out. */
function changed(document: LooseDocument, path: string, value: unknown): LooseDocument {
  const copy = structuredClone(document);
  const keys = keysOf(path);
  const last = keys.pop()!;
  const holder = keys.reduce((object, key) => object[key], copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

/** The text of a document in which the value at a path is written as `json`, be that JSON or not. */
function textWith(document: LooseDocument, path: string, json: string): string {
  return JSON.stringify(changed(document, path, MARK)).replace(JSON.stringify(MARK), () => json);
}

/** The text of a document in which the object at a path begins with what is given. */
function textWithMember(document: LooseDocument, path: string, member: string): string {
  const copy = structuredClone(document);
  const target = keysOf(path).reduce((object, key) => object[key], copy);
  const fields = { ...target };
  for (const key of Object.keys(target)) delete target[key];
  Object.assign(target, { [MARK]: 0 }, fields);
  return JSON.stringify(copy).replace(`"${MARK}":0`, () => member);
}

/** Where a fault that is known only to be somewhere in a value is told: the message, event or field. */
function placeOf(path: string): string {
  return /^(state\.messages\[\d+\]|events\[\d+\]|state\.\w+|\w*)/.exec(path)![0];
}

function gzip(content: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([content]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Response(stream).bytes();
}

const FULL = fullSnapshot();
const FULL_TEXT = sealedText(FULL);
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Objects of the full document, from the top to deep in a tool's input. */
const OBJECTS = [
  "",
  "state",
  "state.token_usage",
  "state.token_usage.extra",
  "state.extra.deep[0]",
  "state.messages[0]",
  "state.messages[0].providerOptions.openai",
  "state.messages[1].content[2].data",
  "state.messages[2].content[2]",
  "state.messages[2].content[2].input",
  "state.messages[2].content[2].input.place.at[1]",
  "state.messages[2].content[6]",
  "state.messages[3].content[1].output",
  "tags",
  "events[0]",
  "events[1].payload",
  "events[1].payload.deep[0]",
  "agent",
  "agent.extra",
  "extra.deep[0]",
];

/** Scalars of the full document, in places that are checked and in such that are not. */
const SCALARS = [
  "agent_id",
  "event_log_count",
  "exported_at",
  "tags.ticket",
  "state.status",
  "state.token_usage.cost_usd",
  "state.extra.deep[0].a",
  "state.messages[0].content",
  "state.messages[1].content[0].text",
  "state.messages[2].content[0].providerOptions.anthropic.signature",
  "state.messages[2].content[2].input.place.at[1].b",
  "state.messages[3].content[1].output.value",
  "events[0].seq",
  "events[1].payload.deep[0].a",
  "agent.model",
  "agent.extra.deep[0]",
  "extra.deep[0].a",
];

Deno.test("the documents that the refused ones are made of are good", async () => {
  await using purser = await openTestPurser();
  for (const body of [FULL, FULL_TEXT, `\ufeff ${JSON.stringify(FULL, null, 2)}\n`]) {
    assert.equal((await purser.api("POST", `${RESTORE}?dry_run=true`, body)).status, 200);
  }
  for (const path of OBJECTS) {
    const text = textWithMember(FULL, path, '"new":"[{\\"\\\\"');
    const { status, body } = await purser.api("POST", RESTORE, text);
    assert.equal(status, 200, JSON.stringify(body));
  }
});

testRefusals("a file that was cut off is refused wherever it was cut", async (refuse) => {
  const bytes = bytesOf(sealedText(changed(FULL, "state.messages[0].content", "grüße 😀")));
  const step = Math.ceil(bytes.length / 100);
  for (let end = 0; end < bytes.length; end += step) await refuse(bytes.subarray(0, end));
  for (let end = bytes.length - 5; end < bytes.length; end++) await refuse(bytes.subarray(0, end));
  const inEmoji = bytes.findIndex((byte) => byte === 0xf0) + 2;
  await refuse(bytes.subarray(0, inEmoji), { detail: /not UTF-8/ });
  await refuse("{", { detail: /it ends in the middle/, path: "" });
  await refuse(FULL_TEXT.slice(0, FULL_TEXT.indexOf('"msg_3"')), { path: "state.messages[2]" });
});

testRefusals("what is not one JSON object is refused", async (refuse) => {
  const text = JSON.stringify(snapshotOf());
  const others = [
    "",
    " \n\t ",
    "\ufeff",
    "\ufeff\ufeff" + text,
    "\u00a0" + text,
    "null",
    "true",
    "1",
    '"text"',
    "[]",
    `[${text}]`,
    "nonsense",
    "<xml/>",
    "\0",
    "{}",
    text + text,
    text + "\n" + text,
    text + "x",
    text + "}",
    text + ",",
    text + "\0",
    text + "\ufeff",
    "// a comment\n" + text,
    text.replace("{", "{ /* a comment */ "),
    text.replace('"state":{', '"state":{ // a comment\n'),
    text.replace('"role"', '/* a comment */ "role"'),
    text.slice(0, -1) + ",}",
    text.replace('"hi"}]', '"hi"}, ]'),
    text.replace('"hi"}', '"hi",}'),
    text.replace('"tags":{"ticket":"4711"', '"tags":{"ticket":"4711",'),
    text.replace('"tags":{', '"tags":{,'),
    text.replaceAll('"', "'"),
    text.replace('"production"', "'production'"),
    text.replace('"tags"', "tags"),
    text.replace('"hi"', '"h\ni"'),
    text.replace('"hi"', '"h\\xi"'),
    text.replace('"hi"', '"\\u12"'),
    text.replace('"schema_version":1', '"schema_version":01'),
    text.replace('"schema_version":1', '"schema_version":+1'),
    text.replace('"schema_version":1', '"schema_version":0x1'),
    text.replace('"schema_version":1', '"schema_version":1.'),
    text.replace('"schema_version":1', '"schema_version":True'),
    text.replace('"schema_version":1', '"schema_version"=1'),
    text.replace('"schema_version":1', '"schema_version"::1'),
    text.replace('"schema_version":1', '"schema_version":1 1'),
    text.replace('"schema_version":1', '"schema_version":undefined'),
  ];
  for (const other of others) {
    assert.ok(other === "" || !others.includes(text));
    await refuse(other);
  }
});

testRefusals("bytes that are not UTF-8 are refused", async (refuse) => {
  const text = JSON.stringify(snapshotOf());
  const [before, after] = text.split("hello").map(bytesOf) as [Uint8Array, Uint8Array];
  const detail = /^Cannot read the snapshot: it is not UTF-8$/;
  const wrong = {
    "a surrogate (CESU-8)": [0xed, 0xa0, 0x80],
    "a pair of surrogates (CESU-8)": [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
    "an overlong zero": [0xc0, 0x80],
    "an overlong slash": [0xe0, 0x80, 0xaf],
    "a byte of nothing": [0xff],
    "a continuation alone": [0x80],
    "a beginning alone": [0xe2, 0x82],
    "beyond Unicode": [0xf4, 0x90, 0x80, 0x80],
    "Latin-1": [0xe4],
  };
  for (const bytes of Object.values(wrong)) {
    await refuse(Uint8Array.from([...before, ...bytes, ...after]), { detail, path: "" });
  }
  await refuse(Uint8Array.from([...bytesOf(text), 0xf0]), { detail });
  const units = Uint16Array.from(text, (unit) => unit.charCodeAt(0));
  const littleEndian = new Uint8Array(units.buffer);
  const bigEndian = littleEndian.map((_, index) => littleEndian[index ^ 1]!);
  for (const bytes of [littleEndian, bigEndian]) await refuse(bytes);
  await refuse(Uint8Array.from([0xff, 0xfe, ...littleEndian]), { detail });
  await refuse(Uint8Array.from([0xfe, 0xff, ...bigEndian]), { detail });
});

const noText = [null, 1, true, [], {}];
const noId = [1, true, [], {}];
const noCount = [null, "1", -1, 1.5, 2 ** 53, 1e300, true, [], {}];
const noObject = [null, 1, "x", true, []];
const noList = [null, 1, "x", true, {}, { 0: "x" }];
const noFlag = [null, 0, "true", [], {}];
const noName = [...noText, "", "-a", "a b", "a\n", "ä", "\0", "x".repeat(129)];
const noTime = [
  ...noText,
  "",
  "yesterday",
  "2026-11-20",
  "2026-11-20T08:00:00",
  "2026-11-20T08:00Z",
  "2026-11-20 08:00:00Z",
  "2026-11-20t08:00:00z",
  "2026-11-20T08:00:00+01:00",
  "2026-11-20T08:00:00.Z",
  "2026-13-20T08:00:00Z",
  "2026-02-30T08:00:00Z",
  "2026-02-29T08:00:00Z",
  "2026-11-20T24:00:00Z",
  "2026-11-20T25:00:00Z",
  "2026-11-20T08:60:00Z",
  "12026-11-20T08:00:00Z",
  "2026-11-20T08:00:00Z\n",
];
const noMedia = [null, 1, true, []];
const filled = [...noText, ""];
const noOptions = [...noObject, { openai: null }, { openai: "x" }, { openai: [] }];

/** Values that do not fit, by the path of the field; the issue names that path, or one below it. */
const WRONG: Record<string, readonly unknown[]> = {
  schema_version: [null, "1", "v1", 0, -1, 1.5, true, [], {}],
  agent_id: [...noName, "snapshot"],
  session_id: noName,
  state: noObject,
  event_log_count: noCount,
  tags: [...noObject, { "": "x" }],
  "tags.ticket": noText,
  source_environment: noText,
  exported_at: noTime,
  events: noList,
  agent: noObject,
  integrity: [...noText, "", "sha256:", "sha256:" + "A".repeat(64), "md5:" + "0".repeat(32), "0".repeat(64)],

  "state.messages": noList,
  "state.status": [...filled, "COMPLETED", "done"],
  "state.token_usage": noObject,
  "state.token_usage.input_tokens": noCount,
  "state.token_usage.output_tokens": noCount,
  "state.token_usage.total_tokens": noCount,
  "state.token_usage.cost_usd": ["1", -1, true, [], {}],
  "state.token_usage.model": noId,
  "state.token_usage.cache_read_tokens": noCount,
  "state.token_usage.cache_write_tokens": noCount,
  "state.token_usage.reasoning_tokens": noCount,
  "state.token_usage.model_calls": noCount,
  "state.token_usage.unpriced_calls": noCount,

  "state.messages[0]": noObject,
  "state.messages[0].id": [...filled, "a\nb", "\0", "\u0085", "x".repeat(257)],
  "state.messages[0].created_at": noTime,
  "state.messages[0].role": [...filled, "system", "developer", "User"],
  "state.messages[0].content": [null, 1, true, {}],
  "state.messages[0].providerOptions": noOptions,
  "state.messages[1].content": [null, 1, true, {}],
  "state.messages[2].content": [null, 1, true, {}],
  "state.messages[3].content": [null, 1, true, {}, "text"],

  "state.messages[1].content[0]": noObject,
  "state.messages[1].content[0].type": [...filled, "reasoning", "tool-call", "tool-result"],
  "state.messages[1].content[0].text": noText,
  "state.messages[1].content[0].providerOptions": noOptions,
  "state.messages[1].content[1].image": noMedia,
  "state.messages[1].content[1].mediaType": filled,
  "state.messages[1].content[1].providerOptions": noOptions,
  "state.messages[1].content[2].data": noMedia,
  "state.messages[1].content[2].mediaType": filled,
  "state.messages[1].content[2].filename": noText,
  "state.messages[2].content[0]": noObject,
  "state.messages[2].content[0].type": [...filled, "image", "tool-approval-response"],
  "state.messages[2].content[0].text": noText,
  "state.messages[2].content[0].providerOptions": noOptions,
  "state.messages[2].content[1].data": noMedia,
  "state.messages[2].content[1].mediaType": filled,
  "state.messages[2].content[2].toolCallId": noText,
  "state.messages[2].content[2].toolName": noText,
  "state.messages[2].content[3].providerExecuted": noFlag,
  "state.messages[2].content[4].toolCallId": noText,
  "state.messages[2].content[4].output": noObject,
  "state.messages[2].content[5].approvalId": noText,
  "state.messages[2].content[5].toolCallId": noText,
  "state.messages[2].content[6].type": filled,
  "state.messages[3].content[0]": noObject,
  "state.messages[3].content[0].type": [...filled, "text", "file", "tool-call"],
  "state.messages[3].content[0].approvalId": noText,
  "state.messages[3].content[0].approved": noFlag,
  "state.messages[3].content[1].toolCallId": noText,
  "state.messages[3].content[1].toolName": noText,
  "state.messages[3].content[1].output": noObject,
  "state.messages[3].content[1].output.type": filled,
  "state.messages[3].content[1].output.providerOptions": noOptions,
  "state.messages[3].content[1].providerOptions": noOptions,

  "events[0]": noObject,
  "events[0].seq": ["1", -1, 1.5, 2 ** 53, true, [], {}],
  "events[0].type": filled,
  "events[0].at": noTime,
  "events[0].agent_id": noText,
  "events[0].session_id": noId,
  "events[0].run_id": noId,
  "events[0].call_id": noId,
  "events[0].payload": noObject,
  "events[1].imported_from": noText,

  "agent.agent_id": [...noName, "snapshot", "other"],
  "agent.name": [...noName, "snapshot", "other"],
  "agent.model": [...filled, "a\nb", "a\0", "x".repeat(501)],
  "agent.system_prompt": [...noText, "a\0b"],
  "agent.cost_budget_usd": ["1", -1, 1e-10, 0.1234567891, 1.1e9, true, [], {}],
  "agent.budget_mode": [...filled, "hard", "STOP"],
  "agent.allow_unpriced": noFlag,
  "agent.max_steps": [...noCount, 0, 1001],
  "agent.max_output_tokens": ["1", 0, -1, 1.5, 1e8, true, [], {}],
  "agent.tools": [...noList, Array.from({ length: 129 }, () => "t")],
  "agent.tools[0]": noText,
};

/** What a document has to have. */
const REQUIRED = [
  "schema_version",
  "agent_id",
  "session_id",
  "state",
  "state.messages",
  "state.status",
  "state.token_usage.input_tokens",
  "state.token_usage.output_tokens",
  "state.token_usage.total_tokens",
  "state.token_usage.cost_usd",
  "state.token_usage.model",
  "event_log_count",
  "tags",
  "source_environment",
  "exported_at",
  "agent.model",
  ...["seq", "type", "at", "agent_id", "session_id", "run_id", "call_id", "payload"].map((key) =>
    `events[0].${key}`
  ),
  ...["role", "content"].flatMap((key) => [0, 1, 2, 3].map((index) => `state.messages[${index}].${key}`)),
  ...["[0].type", "[0].text", "[1].image", "[2].data", "[2].mediaType"].map((path) =>
    `state.messages[1].content${path}`
  ),
  ...[
    "[0].type",
    "[0].text",
    "[1].data",
    "[1].mediaType",
    "[2].toolCallId",
    "[2].toolName",
    "[2].input",
    "[4].toolCallId",
    "[4].toolName",
    "[4].output",
    "[5].approvalId",
    "[5].toolCallId",
    "[6].type",
  ].map((path) => `state.messages[2].content${path}`),
  ...["[0].approvalId", "[0].approved", "[1].toolCallId", "[1].toolName", "[1].output", "[1].output.type"]
    .map(
      (path) => `state.messages[3].content${path}`,
    ),
];

const FIELD_GROUPS: Record<string, RegExp> = {
  "the document": /^(?!state\.|events\[|agent\.)/,
  "its state": /^state\.(?!messages\[)/,
  "a message": /^state\.messages\[\d+\](?!\.content\[)/,
  "a part": /^state\.messages\[\d+\]\.content\[/,
  "an event": /^events\[/,
  "its agent": /^agent\./,
};

for (const [name, pattern] of Object.entries(FIELD_GROUPS)) {
  testRefusals(`every field of ${name} refuses what does not fit, and names itself`, async (refuse) => {
    const fields = Object.entries(WRONG).filter(([path]) => pattern.test(path));
    assert.ok(fields.length > 0);
    for (const [path, values] of fields) {
      for (const value of values) {
        const { details } = await refuse(changed(FULL, path, value));
        const paths = (details.issues as { path: string }[]).map((issue) => issue.path);
        const isNamed = paths.some((told) => told === path || told.startsWith(`${path}.`));
        assert.ok(isNamed, `${path}: ${JSON.stringify(value)} gives ${JSON.stringify(details.issues)}`);
      }
    }
  });
}

testRefusals("every field that a document has to have is missed by its path", async (refuse) => {
  for (const path of REQUIRED) await refuse(changed(FULL, path, undefined), { path });
});

testRefusals("a newer version is refused with both versions and the word to upgrade", async (refuse) => {
  for (const version of [2, 3, 1000, 2 ** 53]) {
    const detail = new RegExp(`version ${version} of the format, .* knows up to 1; upgrade Purser`);
    // Whatever else is in it: of a format that is not known nothing can be said.
    const documents = [
      { ...FULL, schema_version: version },
      { schema_version: version, sessions: [1] },
      { ...FULL, state: 5, agent_id: 5, schema_version: version },
      { ...FULL, state: { ...FULL.state, messages: [5] }, schema_version: version },
    ];
    for (const document of documents) {
      const { details } = await refuse(document, { detail });
      assert.deepEqual(details.issues.map(({ path }: { path: string }) => path), ["schema_version"]);
    }
    // Also where the version comes last, and where the file then is no JSON of ours.
    const { schema_version: _version, ...rest } = FULL;
    await refuse({ ...rest, schema_version: version }, { detail });
    await refuse(`{"schema_version":${version},"state":{"a":1,"a":2},"x":}`, { detail });
  }
});

testRefusals("a version that is wrong does not hide what else is wrong", async (refuse) => {
  for (const version of [0, 1.5, "1", null]) {
    const document = { ...FULL, schema_version: version, agent_id: 5 };
    for (const text of [JSON.stringify(document), textWith(document, "tags.ticket", "1e999")]) {
      await refuse(text, { path: "schema_version" });
      await refuse(text, { path: "agent_id" });
    }
  }
});

testRefusals("a document whose integrity is another one's is refused", async (refuse) => {
  const expected = { path: "integrity", detail: /changed or damaged/ };
  const { integrity } = JSON.parse(FULL_TEXT);
  await refuse(
    FULL_TEXT.replace(/sha256:./, (text) => text === "sha256:0" ? "sha256:1" : "sha256:0"),
    expected,
  );
  await refuse({ ...FULL, tags: {}, integrity }, expected);
  await refuse({ ...FULL, events: undefined, integrity }, expected);
  await refuse({ ...FULL, events: [], integrity }, expected);
  await refuse({ ...FULL, extra: undefined, integrity }, expected);
  await refuse({ ...FULL, more: null, integrity }, expected);
  await refuse(changed({ ...FULL, integrity }, "state.messages[4]", undefined), {
    path: "state.messages[4]",
  });
  await refuse(
    { ...FULL, state: { ...FULL.state, messages: FULL.state.messages.slice(0, 4) }, integrity },
    expected,
  );
  await refuse({ ...FULL, state: { ...FULL.state, messages: FULL.state.messages.toReversed() }, integrity });
});

testRefusals("one changed character of a whole document is one too many", async (refuse) => {
  // Under another name, the integrity is an unknown field, and a document may have none.
  const name = FULL_TEXT.indexOf('"integrity":');
  const position = fc.nat({ max: FULL_TEXT.length - 1 }).filter((at) => at <= name || at >= name + 11);
  const character = fc.oneof(
    fc.constantFrom(...'0123456789aefzEZ.-+ \t{}[]",:\\/'),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  );
  const change = fc.tuple(position, character, fc.constantFrom("replaced", "inserted", "left out"));
  let readable = 0;
  const texts = fc.sample(change, { numRuns: 400, seed: 11 }).map(([at, unit, how]) =>
    FULL_TEXT.slice(0, at) + (how === "left out" ? "" : unit) +
    FULL_TEXT.slice(how === "inserted" ? at : at + 1)
  );
  for (const text of texts) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // as good as no file
    }
    if (value !== undefined && toCanonicalText(value) === toCanonicalText(JSON.parse(FULL_TEXT))) continue;
    if (value !== undefined) readable++;
    await refuse(text);
  }
  assert.ok(readable > 100, `only ${readable} of them were JSON`);
});

testRefusals("a tool result without its call before it is refused", async (refuse) => {
  const call = { type: "tool-call", toolCallId: "c1", toolName: "t", input: {} };
  const result = {
    type: "tool-result",
    toolCallId: "c1",
    toolName: "t",
    output: { type: "text", value: "" },
  };
  const assistant = (...content: unknown[]) => ({ role: "assistant", content });
  const tool = (...content: unknown[]) => ({ role: "tool", content });
  const user = { role: "user", content: "hello" };
  const withMessages = (...messages: unknown[]) => snapshotOf({}, { messages });
  const at = (message: number, part: number) => ({
    path: `state.messages[${message}].content[${part}].toolCallId`,
    detail: /there is no tool call "c1" before this result/,
  });
  await refuse(withMessages(tool(result)), at(0, 0));
  await refuse(withMessages(user, tool(result)), at(1, 0));
  await refuse(withMessages(tool(result), assistant(call)), at(0, 0));
  await refuse(withMessages(assistant(result, call)), at(0, 0));
  await refuse(withMessages(assistant(result), tool()), at(0, 0));
  await refuse(withMessages(assistant({ ...call, toolCallId: "C1" }), tool(result)), at(1, 0));
  await refuse(withMessages(assistant({ ...call, type: "tool-cal" }), tool(result)), at(1, 0));
  await refuse(withMessages(assistant({ type: "x", call }), tool(result)), at(1, 0));
  const notOfRole = { detail: /is no part of a message of this role/ };
  await refuse(withMessages(assistant(call), { role: "user", content: [result] }), notOfRole);
  await refuse(withMessages({ role: "user", content: [call] }, tool(result)), notOfRole);
  await refuse(withMessages(tool(call, result)), notOfRole);
  const many = tool(...Array.from({ length: 3 }, () => result));
  const { details } = await refuse(withMessages(many));
  assert.deepEqual(details.issues.map(({ path }: { path: string }) => path), [
    "state.messages[0].content[0].toolCallId",
    "state.messages[0].content[1].toolCallId",
    "state.messages[0].content[2].toolCallId",
  ]);
});

testRefusals("a key that stands twice is refused at every level, however it is spelt", async (refuse) => {
  for (const path of OBJECTS) {
    for (
      const twins of [
        '"twin":1,"twin":1',
        '"twin":1,"other":{"twin":1},"twin":2',
        '"twin":"x","tw\\u0069n":"y"',
        '"\\u0074win":[],"\\u0074win":[]',
        '"":1,"":2',
        '"\\/":1,"/":2',
      ]
    ) {
      await refuse(textWithMember(FULL, path, twins), { path: placeOf(path), detail: /twice/ });
    }
  }
  const text = JSON.stringify(FULL);
  for (
    const key of ["schema_version", "state", "messages", "status", "tags", "events", "agent", "seq", "role"]
  ) {
    const value = /^(\{|\[)/.test(text.slice(text.indexOf(`"${key}":`) + key.length + 3)) ? "[]" : "1";
    await refuse(text.replace(`"${key}":`, `"${key}":${value},"${key}":`));
  }
});

testRefusals("a key __proto__ is refused at every level, however it is spelt", async (refuse) => {
  for (const path of OBJECTS) {
    for (const member of ['"__proto__":1', '"__proto__":{"role":"user"}', '"\\u005f_proto_\\u005F":null']) {
      const isWalked = path === "" || path === "state";
      await refuse(textWithMember(FULL, path, member), {
        path: isWalked ? path : `${path}.__proto__`,
        detail: /not allowed/,
      });
    }
  }
  // As a value it is a text like any other.
  await using purser = await openTestPurser();
  const good = changed(FULL, "state.messages[0].content", "__proto__");
  assert.equal((await purser.api("POST", RESTORE, good)).status, 200);
});

testRefusals("what is nested 10,000 deep is refused without being parsed", async (refuse) => {
  const deep = [
    "[".repeat(10_000) + "]".repeat(10_000),
    '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
    '[{"a":'.repeat(5_000) + "1" + "}]".repeat(5_000),
    "[".repeat(10_000),
  ];
  const justTooDeep = "[".repeat(511) + "]".repeat(511);
  const walked = ["state", "state.messages", "events"];
  for (const path of [...SCALARS, ...walked, "extra", "tags", "agent", "schema_version"]) {
    // What is walked is as deep again below.
    for (const json of walked.includes(path) ? deep : [...deep, justTooDeep]) {
      const { details } = await refuse(textWith(FULL, path, json), {
        detail: /nested deeper than 510 levels/,
      });
      const [{ path: told }] = details.issues;
      assert.ok(told.startsWith(placeOf(path)), `${told} is not ${placeOf(path)}`);
    }
  }
  for (const json of deep) await refuse(json);
});

testRefusals("a number that is none, or too large, is refused wherever it stands", async (refuse) => {
  for (const path of SCALARS) {
    for (
      const json of ["NaN", "Infinity", "-Infinity", "nan", "-", ".5", "1e", "--1", "1_000", "0b1", "1n"]
    ) {
      await refuse(textWith(FULL, path, json), { path: placeOf(path) });
    }
    for (const json of ["1e999", "-1e999", "1" + "0".repeat(309), "1E+400"]) {
      await refuse(textWith(FULL, path, json), { path, detail: /too large/ });
    }
  }
});

testRefusals("half of a surrogate pair is refused in values and keys", async (refuse) => {
  for (const path of SCALARS) {
    for (const json of ['"\\ud800"', '"\\udc00\\ud800"', '"x\\uDBFFy"', '"\\ud83d\\ude00\\ud83d"']) {
      await refuse(textWith(FULL, path, json), { path, detail: /lone surrogate/ });
    }
  }
  for (const path of OBJECTS) {
    for (const member of ['"\\ud800":"x"', '"a\\udfff":"x"']) {
      await refuse(textWithMember(FULL, path, member), { detail: /lone surrogate/ });
    }
  }
});

Deno.test("a surrogate that is escaped together with its other half is a character like any other", async () => {
  await using purser = await openTestPurser();
  const text = textWith(FULL, "state.messages[0].content", '"\\ud83d\\ude00"');
  assert.equal((await purser.api("POST", RESTORE, text)).status, 200);
  assert.equal((await purser.messages("ses"))[0]!.content, "😀");
});

testRefusals("all that is wrong is told at once, each by its path", async (refuse) => {
  const document = fullSnapshot();
  document.agent_id = 5;
  document.session_id = "a b";
  document.state.status = "done";
  document.state.messages[0].content = 5;
  document.state.messages[3].content[1].toolCallId = "call_9";
  document.event_log_count = -1;
  document.tags.ticket = null;
  document.exported_at = "yesterday";
  document.events[0].at = "2026-02-30T00:00:00Z";
  document.agent = { model: "demo:echo", max_steps: 0 };
  const expected = [
    "agent.max_steps",
    "agent_id",
    "event_log_count",
    "events[0].at",
    "exported_at",
    "session_id",
    "state.messages[0].content",
    "state.messages[3].content[1].toolCallId",
    "state.status",
    "tags.ticket",
  ];
  for (const text of [JSON.stringify(document), toCanonicalText(document)]) {
    const problem = await refuse(text, { detail: /^Cannot read the snapshot: \S+: .* \(and 9 more\)$/ });
    const paths = problem.details.issues.map(({ path }: { path: string }) => path).sort();
    assert.deepEqual(paths, expected);
    assert.equal(problem.details.issue_count, undefined);
  }
});

testRefusals("an agent_id that is none is not told once more of the agent", async (refuse) => {
  const { details } = await refuse(changed(FULL, "agent_id", 5));
  assert.deepEqual(details.issues.map(({ path }: { path: string }) => path), ["agent_id"]);
});

testRefusals("faults of the text and of the schema are told together, each once", async (refuse) => {
  const document = changed(FULL, "event_log_count", -1);
  const text = textWithMember(document, "state.messages[2].content[2].input", '"a":1,"a":2')
    .replace('"4711"', "1e999");
  const { details } = await refuse(text);
  assert.deepEqual(details.issues.map(({ path }: { path: string }) => path).sort(), [
    "event_log_count",
    "state.messages[2]",
    "tags.ticket",
  ]);
});

testRefusals("of ten thousand problems a hundred are told, and all are counted", async (refuse) => {
  const wrong = (count: number) =>
    snapshotOf({}, { messages: Array.from({ length: count }, () => ({ role: "user", content: 5 })) });
  const { details } = await refuse(wrong(10_000), { detail: /\(and 9999 more\)$/ });
  assert.equal(details.issues.length, 100);
  assert.equal(details.issue_count, 10_000);
  assert.equal(details.issues[99].path, "state.messages[99].content");
  const hundred = await refuse(wrong(100));
  assert.deepEqual([hundred.details.issues.length, hundred.details.issue_count], [100, undefined]);
});

testRefusals("a problem stays small, however large what is wrong", async (refuse) => {
  const long = "x".repeat(100_000);
  const result = { type: "tool-result", toolCallId: long, toolName: "t", output: { type: "text" } };
  const documents = [
    changed(FULL, "tags", { [long]: 5 }),
    changed(FULL, "agent_id", long),
    changed(FULL, "state.messages", [{ role: "tool", content: [result] }]),
    changed(FULL, "state.messages", [{ role: "user", content: [{ type: "text", [long]: 1 }] }]),
  ].map((document) => JSON.stringify(document));
  documents.push(textWithMember(FULL, "extra", `"${long}":{"__proto__":1}`));
  documents.push(textWithMember(FULL, "", `"${long}":1,"${long}":1`));
  documents.push(textWith(FULL, "extra", `"${long}\n"`));
  for (const document of documents) {
    const length = JSON.stringify(await refuse(document)).length;
    assert.ok(length < 10_000, `${length} characters for ${document.slice(0, 100)}`);
  }
});

testRefusals("what a problem quotes of a document is Unicode text", async (refuse) => {
  for (const json of ["😀", "x😀", '"a" 😀', "[1,😀]", '{"a":😀}', '{"b":"😀",😀']) {
    for (const path of ["extra", "tags.ticket", "state.messages[0].content", "events[0].seq"]) {
      const { detail, details } = await refuse(textWith(FULL, path, json));
      for (const text of [detail, ...details.issues.flatMap(Object.values)]) {
        assert.ok(text.isWellFormed(), `${json} gives ${JSON.stringify(text)}`);
      }
    }
  }
});

const SMALL = JSON.stringify(snapshotOf());
const LIMIT = { config: { maxSnapshotBytes: SMALL.length } };
const tooLarge = { status: 413, code: "too_large", detail: new RegExp(`over ${SMALL.length} bytes`) };

testRefusals(
  "a document over the limit is refused: by its length, as it comes, and unzipped",
  async (refuse) => {
    await refuse(SMALL + " ", tooLarge);
    await refuse(SMALL + " ", { ...tooLarge, headers: { "content-length": String(SMALL.length + 1) } });
    await refuse(SMALL, { ...tooLarge, headers: { "content-length": String(SMALL.length + 1) } });
    await refuse(SMALL + " ", { ...tooLarge, headers: { "content-length": "1" } });
    const headers = { "content-encoding": "gzip" };
    const bomb = await gzip(new Uint8Array(4 * 1024 * 1024).fill(0x20));
    await refuse(bomb, { status: 413, code: "too_large", headers: { ...headers, "content-length": "1" } });
    await refuse(await gzip(SMALL + " "), { ...tooLarge, headers });
    await using purser = await openTestPurser(LIMIT);
    assert.equal((await purser.api("POST", RESTORE, SMALL)).status, 200);
    assert.equal((await purser.api("POST", RESTORE, await gzip(SMALL), headers)).status, 200);
  },
  LIMIT,
);

Deno.test("a body without an end is refused at the limit, and not read on", async () => {
  await using purser = await openTestPurser({ config: { maxSnapshotBytes: 10_000 } });
  const before = await dump(purser.core.store);
  for (const isZipped of [false, true]) {
    let pulled = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        pulled++;
        controller.enqueue(bytesOf(pulled === 1 ? "{" : " ".repeat(1_000)));
      },
      cancel: () => void (isCancelled = true),
    });
    const headers = { "content-type": "application/json", ...(isZipped && { "content-encoding": "gzip" }) };
    const body = isZipped ? endless.pipeThrough(new CompressionStream("gzip")) : endless;
    const response = await purser.app.request(RESTORE, { method: "POST", headers, body });
    assert.equal(response.status, 413);
    await response.body?.cancel();
    assert.ok(isZipped || pulled < 20, `${pulled} chunks were read`);
    assert.ok(isZipped || isCancelled, "the body was left open");
  }
  assert.deepEqual(await dump(purser.core.store), before);
});

Deno.test("a body that breaks off leaves everything as it was", async () => {
  await using purser = await openTestPurser();
  const before = await dump(purser.core.store);
  for (const encoding of ["identity", "gzip"]) {
    const bytes = encoding === "gzip" ? await gzip(SMALL) : bytesOf(SMALL);
    let isSent = false;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        if (isSent) controller.error(new TypeError("connection reset"));
        else controller.enqueue(bytes);
        isSent = true;
      },
    });
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const response = await purser.app.request(RESTORE, { method: "POST", headers, body });
    assert.notEqual(response.status, 200);
    await response.body?.cancel();
  }
  assert.deepEqual(await dump(purser.core.store), before);
});

testRefusals("a body of another type or encoding is refused", async (refuse) => {
  const wrong = { status: 415, code: "unsupported_media_type" };
  for (const type of ["text/plain", "", "application/jsonp", "application/gzip", "multipart/form-data"]) {
    await refuse(SMALL, { ...wrong, headers: { "content-type": type } });
    await refuse("", { ...wrong, headers: { "content-type": type } });
  }
  for (const encoding of ["br", "deflate", "zstd", "gzip, gzip", "gzip, br", "x"]) {
    await refuse(SMALL, { ...wrong, headers: { "content-encoding": encoding } });
  }
  await using purser = await openTestPurser();
  for (
    const header of [
      ["content-type", "application/json; charset=utf-8"],
      ["content-type", "application/vnd.purser.snapshot+json"],
      ["content-encoding", "identity"],
    ]
  ) {
    const { status } = await purser.api("POST", RESTORE, SMALL, Object.fromEntries([header]));
    assert.equal(status, 200, String(header));
  }
  const zipped = await gzip(SMALL);
  for (const encoding of ["gzip", "GZIP"]) {
    const { status } = await purser.api("POST", RESTORE, zipped, { "content-encoding": encoding });
    assert.equal(status, 200);
  }
});

testRefusals("gzip that is none, or damaged, or cut off is refused", async (refuse) => {
  const headers = { "content-encoding": "gzip" };
  const zipped = await gzip(FULL_TEXT);
  const expected = { headers, path: "" };
  await refuse(FULL_TEXT, expected);
  await refuse("", expected);
  for (const end of [1, 5, 10, 11, 100, zipped.length - 8, zipped.length - 4, zipped.length - 1]) {
    await refuse(zipped.subarray(0, end), expected);
  }
  for (const at of [0, 1, 2, zipped.length - 8, zipped.length - 1]) {
    await refuse(zipped.map((byte, index) => index === at ? byte ^ 0xff : byte), { headers });
  }
  await refuse(await gzip(zipped), { headers });
  await refuse(await gzip(FULL_TEXT.slice(0, -10)), { headers });
  await refuse(zipped, { detail: /not UTF-8/ });
});

testRefusals(
  "names that nobody may have, and a session that is another agent's, are refused",
  async (refuse) => {
    await refuse(snapshotOf({ agent_id: "snapshot" }), { path: "agent_id", detail: /path of the API/ });
    await refuse(snapshotOf({ agent: { model: "demo:echo", name: "other" } }), { path: "agent.name" });
    for (const id of ["", ".", "..", "../x", "a/b", "a%20b", "ses\n", " ses"]) {
      await refuse(snapshotOf({ session_id: id }), { path: "session_id" });
      await refuse(snapshotOf({ agent_id: id }), { path: "agent_id" });
    }
  },
);

Deno.test("a session that belongs to another agent here is refused as a conflict, and stays as it was", async () => {
  await using purser = await openTestPurser();
  await purser.run({ agentId: "owner" }, "Hello", { sessionId: "ses" });
  const before = await dump(purser.core.store);
  for (const query of ["", "?dry_run=true", "?dry_run=false"]) {
    const { body } = await assertProblem(purser, "POST", RESTORE + query, snapshotOf(), {
      status: 409,
      code: "conflict",
      detail: /Cannot restore session ses of agent agent: here it belongs to agent owner/,
    });
    assert.deepEqual(body.details, { session_id: "ses", agent_id: "owner" });
  }
  // A document that is wrong is told so first.
  await assertProblem(purser, "POST", RESTORE, snapshotOf({ tags: 5 }), { status: 400, code: "invalid" });
  assert.deepEqual(await dump(purser.core.store), before);
});

Deno.test("a query that is not known, or not clear, is refused before the body is read", async () => {
  await using purser = await openTestPurser();
  const before = await dump(purser.core.store);
  for (
    const query of [
      "dry_run=",
      "dry_run=1",
      "dry_run=TRUE",
      "dry_run",
      "dryrun=true",
      "dry-run=true",
      "dry_run=true&force=true",
      "x=1",
      "dry_run=false&dry_run=true",
      "dry_run=true&dry_run=false",
    ]
  ) {
    const expected = { status: 400, code: "invalid" };
    await assertProblem(purser, "POST", `${RESTORE}?${query}`, snapshotOf(), expected);
    assert.deepEqual(await dump(purser.core.store), before, query);
  }
});

Deno.test("a damaged document is refused or taken, and never a fault of the server", async () => {
  await using purser = await openTestPurser();
  const source = JSON.stringify(FULL, null, 1);
  const at = fc.nat({ max: source.length });
  const damage = fc.array(
    fc.tuple(at, fc.nat({ max: 40 }), fc.oneof(at.map((from) => source.slice(from, from + 30)), fc.string())),
    { minLength: 1, maxLength: 3 },
  );
  for (const cuts of fc.sample(damage, { numRuns: 300, seed: 5 })) {
    const text = cuts.reduce(
      (all, [from, length, by]) => all.slice(0, from) + by + all.slice(from + length),
      source,
    );
    const { status } = await purser.api("POST", `${RESTORE}?dry_run=true`, text.toWellFormed());
    assert.ok(status === 200 || status === 400, `${status} for ${text}`);
  }
});
