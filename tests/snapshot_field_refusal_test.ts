import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "./harness/any_character.ts";
import { toCanonicalText } from "../src/kernel/json/canonical_json.ts";
import { changed, FULL, FULL_TEXT, testRefusals, textWith } from "./harness/refusals.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { cases, isThorough } from "./harness/thorough.ts";

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

/** Invalid values, by the path of the field; the issue names that path, or one below it. */
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

/** The required fields of a document. */
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
  testRefusals(`an invalid value in any field of ${name} is refused, naming the field`, async (refuse) => {
    const fields = Object.entries(WRONG).filter(([path]) => pattern.test(path));
    assert.ok(fields.length > 0);
    for (const [path, values] of fields) {
      for (const [turn, value] of values.entries()) {
        // The gate tries half of the values of each field, at least two.
        if (!isThorough && turn % 2 === 1 && turn > 1) continue;
        const { details } = await refuse(changed(FULL, path, value));
        const paths = (details.issues as { path: string }[]).map((issue) => issue.path);
        const isNamed = paths.some((reported) => reported === path || reported.startsWith(`${path}.`));
        assert.ok(isNamed, `${path}: ${JSON.stringify(value)} gives ${JSON.stringify(details.issues)}`);
      }
    }
  });
}

testRefusals("every missing required field is reported by its path", async (refuse) => {
  for (const path of REQUIRED) await refuse(changed(FULL, path, undefined), { path });
});

testRefusals("a newer version is refused with both versions and the advice to upgrade", async (refuse) => {
  for (const version of [2, 3, 1000, 2 ** 53]) {
    const detail = new RegExp(`version ${version} of the format, .* knows up to 1; upgrade Purser`);
    // Regardless of its other fields: of an unknown format nothing else can be said.
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
    // Also if the version comes last, and if the rest of the file is not JSON.
    const { schema_version: _version, ...rest } = FULL;
    await refuse({ ...rest, schema_version: version }, { detail });
    await refuse(`{"schema_version":${version},"state":{"a":1,"a":2},"x":}`, { detail });
  }
});

testRefusals("an invalid version does not hide other faults", async (refuse) => {
  for (const version of [0, 1.5, "1", null]) {
    const document = { ...FULL, schema_version: version, agent_id: 5 };
    for (const text of [JSON.stringify(document), textWith(document, "tags.ticket", "1e999")]) {
      await refuse(text, { path: "schema_version" });
      await refuse(text, { path: "agent_id" });
    }
  }
});

testRefusals("a document with the integrity of another one is refused", async (refuse) => {
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

testRefusals("a document with a single changed character is refused", async (refuse) => {
  // Under another name, the integrity is an unknown field, and a document may have none.
  const name = FULL_TEXT.indexOf('"integrity":');
  const position = fc.nat({ max: FULL_TEXT.length - 1 }).filter((at) => at <= name || at >= name + 11);
  const character = fc.oneof(
    fc.constantFrom(...'0123456789aefzEZ.-+ \t{}[]",:\\/'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  );
  const change = fc.tuple(position, character, fc.constantFrom("replaced", "inserted", "left out"));
  let readable = 0;
  const texts = fc.sample(change, { numRuns: cases(160), seed: 11 }).map(([at, unit, how]) =>
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
  assert.ok(readable > texts.length / 4, `only ${readable} of them were JSON`);
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
  const notOfRole = { detail: /isn't a part of a message of this role/ };
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
