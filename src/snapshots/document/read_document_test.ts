import assert from "node:assert/strict";
import { toCanonicalText } from "../../kernel/json/canonical_json.ts";
import fc from "#dev/fast_check.ts";
import { z } from "zod";
import { fullSnapshot, type LooseDocument, sealedText } from "../../../tests/harness/any_snapshot.ts";
import { snapshotOf } from "../../../tests/harness/snapshots.ts";
import { rejection } from "../../../tests/harness/test_purser.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Issue } from "../../contract/schema_issues.ts";
import type { Format } from "./format.ts";
import { readDocument } from "./read_document.ts";
import { Snapshot } from "../../contract/snapshot/snapshot.ts";

const MAX_BYTES = 1024 * 1024;

/** Bytes in chunks that end at these offsets. */
async function* cut(bytes: Uint8Array, ...ends: number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...ends, bytes.length]) yield bytes.subarray(start, start = end);
}

/** Reads a document to its end. */
async function read(content: string | AsyncIterable<Uint8Array>, format?: Format): Promise<LooseDocument> {
  const bytes = typeof content === "string" ? cut(new TextEncoder().encode(content)) : content;
  await using snapshot = await readDocument(bytes, { maxBytes: MAX_BYTES, format });
  const { head } = snapshot;
  const messages = (await Array.fromAsync(snapshot.messages())).flat();
  const events = (await Array.fromAsync(snapshot.events())).flat();
  assert.deepEqual([messages.length, events.length], [snapshot.messageCount, snapshot.eventCount]);
  assert.deepEqual([head.state.messages, head.events ?? []], [[], []]);
  const parse = (text: string) => JSON.parse(text);
  return {
    ...head,
    state: { ...head.state, messages: messages.map(parse) },
    ...(head.events && { events: events.map(parse) }),
  };
}

async function issuesOf(content: string, format?: Format): Promise<Issue[]> {
  const error = await rejection(read(content, format));
  assert.ok(error instanceof PurserError, String(error));
  assert.equal(error.code, "invalid");
  return error.details!.issues as Issue[];
}

/** The text of an object whose members come in this order. */
function inOrder(document: LooseDocument, keys: readonly string[]): string {
  return `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(document[key])}`).join(",")}}`;
}

Deno.test("readDocument() reads the same wherever the bytes are cut, within characters too", async () => {
  const document = snapshotOf({ tags: { "ß": "\u2028😀\ufeff" } }, {
    messages: [{ role: "user", content: "é😀\0" }],
  });
  const bytes = new TextEncoder().encode("\ufeff" + sealedText(document));
  const whole = await read(cut(bytes));
  assert.deepEqual(whole, JSON.parse(sealedText(document)));
  for (let end = 0; end <= bytes.length; end++) assert.deepEqual(await read(cut(bytes, end)), whole);
  const single = Array.from(bytes, (_, index) => index);
  assert.deepEqual(await read(cut(bytes, ...single)), whole);
  assert.deepEqual(await read(cut(bytes, 0, 0, 5, 5, bytes.length)), whole);
});

Deno.test("readDocument() reads members in any order, and reports the faults of each", async () => {
  const good = fullSnapshot();
  const bad = fullSnapshot();
  bad.agent_id = 5;
  bad.state.messages[0].content = 5;
  bad.state.messages.splice(2, 1);
  bad.events[0].seq = "1";
  bad.tags.ticket = null;
  const expected = (await issuesOf(JSON.stringify(bad))).map(({ path }) => path).sort();
  const order = fc.shuffledSubarray(Object.keys(good), { minLength: Object.keys(good).length });
  await fc.assert(
    fc.asyncProperty(order, async (keys) => {
      assert.deepEqual(await read(inOrder(good, keys)), good);
      assert.deepEqual((await issuesOf(inOrder(bad, keys))).map(({ path }) => path).sort(), expected);
    }),
    { numRuns: 40 },
  );
});

Deno.test("readDocument() reports the same faults whether the version comes last or first", async () => {
  const twins = '{"role":"user","role":"user","content":"x"}';
  const call =
    '{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"t","input":{"a":1,"a":2}}]}';
  const result = JSON.stringify({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text" } }],
  });
  const lists: Record<string, string> = {
    "good ones": '{"role":"user","content":"x"}',
    "wrong ones": '5,null,{},{"role":"user","content":5},"x"',
    "twins": twins,
    "a number too large": '{"role":"user","content":"x","n":1e999}',
    "no JSON": '{"role":"user","content":x}',
    "a lone surrogate": '{"role":"user","content":"\\ud800"}',
    "__proto__": '{"role":"user","content":"x","__proto__":1}',
    "a result without a call": result,
    "a call that is no good, and its result": `${call},${result}`,
    "many": `${twins},5,${twins},${result},5`,
  };
  for (const [name, elements] of Object.entries(lists)) {
    for (const list of ["messages", "events"]) {
      const text = JSON.stringify(snapshotOf({ events: [], tags: { a: 5 } })).replace(
        list === "messages" ? /"messages":\[.*?\}\]/ : '"events":[]',
        () => `"${list}":[${elements}]`,
      );
      const last = text.replace('"schema_version":1,', "").replace(/\}$/, ',"schema_version":1}');
      assert.notEqual(last, text);
      const sorted = (issues: Issue[]) => issues.map(({ path, message }) => `${path}: ${message}`).sort();
      assert.deepEqual(sorted(await issuesOf(last)), sorted(await issuesOf(text)), `${list}: ${name}`);
    }
  }
});

Deno.test("readDocument() reports issues in the order of the document's lists, and each once", async () => {
  const messages = [5, { role: "user", content: "x" }, 5, { role: "user" }];
  const paths = (await issuesOf(JSON.stringify(snapshotOf({}, { messages })))).map(({ path }) => path);
  assert.deepEqual(paths, ["state.messages[0]", "state.messages[2]", "state.messages[3].content"]);
});

Deno.test("readDocument() verifies the integrity of a document that others have formatted and reordered", async () => {
  const sealed = JSON.parse(sealedText(fullSnapshot()));
  const reversed = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(reversed);
    return Object.fromEntries(Object.entries(value).reverse().map(([key, item]) => [key, reversed(item)]));
  };
  for (const document of [sealed, reversed(sealed)] as LooseDocument[]) {
    for (const gap of [0, 2, "\t"]) {
      assert.deepEqual(await read(JSON.stringify(document, null, gap)), sealed);
      const changed = { ...document, event_log_count: 8 };
      assert.deepEqual(await issuesOf(JSON.stringify(changed, null, gap)), [{
        path: "integrity",
        message: "is not that of this document: it was changed or damaged after its export",
      }]);
    }
  }
  const spelt = JSON.stringify(sealed).replace('"event_log_count":7', '"event_log_count":0.7E+1')
    .replace('"hello"', '"\\u0068ello"');
  assert.deepEqual(await read(spelt), sealed);
});

Deno.test("readDocument() does not check the integrity of an invalid document", async () => {
  const sealed = JSON.parse(sealedText(fullSnapshot()));
  const paths = (await issuesOf(JSON.stringify({ ...sealed, agent_id: 5, agent: undefined }))).map((
    { path },
  ) => path);
  assert.deepEqual(paths, ["agent_id"]);
});

Deno.test("readDocument() refuses more than maxBytes, however they are chunked", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify(snapshotOf()));
  const sizes = { whole: [], halves: [100], small: Array.from({ length: 30 }, (_, index) => index * 10) };
  for (const ends of Object.values(sizes)) {
    await using _snapshot = await readDocument(cut(bytes, ...ends), { maxBytes: bytes.length });
    const error = await rejection(readDocument(cut(bytes, ...ends), { maxBytes: bytes.length - 1 }));
    assert.equal(error.code, "too_large");
    assert.match(error.message, new RegExp(`over ${bytes.length - 1} bytes`));
  }
});

Deno.test("readDocument() rethrows errors of the stream, and stops reading at a fault", async () => {
  const broken = new Error("connection reset");
  async function* breaking(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('{"schema_version":1,');
    await Promise.resolve();
    throw broken;
  }
  assert.equal(await rejection(read(breaking())), broken);
  let chunks = 0;
  let isClosed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        yield new TextEncoder().encode(++chunks === 1 ? "[" : " ");
        await Promise.resolve();
      }
    } finally {
      isClosed = true;
    }
  }
  assert.equal((await rejection(read(endless()))).code, "invalid");
  assert.deepEqual([chunks, isClosed], [1, true]);
});

Deno.test("readDocument() limits the fields besides the lists in number and size", async () => {
  const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`x${index}`, 1]));
  const [{ message }] = await issuesOf(JSON.stringify(snapshotOf(many))) as [Issue];
  assert.match(message, /the fields beside messages and events are more than 10000/);
  const refusal = async (more: LooseDocument) => {
    const large = new TextEncoder().encode(JSON.stringify(snapshotOf(more)));
    return (await rejection(readDocument(cut(large), { maxBytes: large.length }))).message;
  };
  const text = "x".repeat(7 * 1024 * 1024);
  assert.match(
    await refusal({ agent: { model: "m", system_prompt: text } }),
    /agent: the fields beside messages and events are more than 10000, or longer/,
  );
  assert.match(
    await refusal({ extra: text }),
    /extra: the fields that are not of this format are longer than 1048576/,
  );
  assert.match(
    await refusal({ tags: { a: "x".repeat(70_000) } }),
    /tags: must not have more than 65536 characters/,
  );
  assert.match(await refusal({ source_environment: "x".repeat(201) }), /source_environment: /);
});

/** A version 2 in which some things have other names. */
const RENAMED: Format = {
  version: 2,
  head: Snapshot.extend({
    schema_version: z.literal(2),
    environment: z.string(),
    source_environment: z.never().optional(),
  }),
  upgrades: [{
    from: 1,
    head: ({ source_environment: environment, ...head }) => ({ ...head, environment }),
    message: ({ mood, ...message }) => mood === undefined ? message : { ...message, feeling: mood },
    event: ({ payload, ...event }) => ({ ...event, payload: { was: payload } }),
  }],
};

function upgraded(document: LooseDocument): LooseDocument {
  const { source_environment: environment, ...rest } = structuredClone(document);
  const { mood, ...first } = rest.state.messages[0];
  rest.state.messages[0] = { ...first, feeling: mood };
  rest.events = rest.events.map((event: LooseDocument) => ({ ...event, payload: { was: event.payload } }));
  return { ...rest, environment, schema_version: 2 };
}

Deno.test("readDocument() refuses a message or an event past maxContextBytes before it is whole, and says which", async () => {
  const message = { role: "user", content: "x".repeat(300_000) };
  const { length } = JSON.stringify(message);
  const surrounding = 256 * 1024;
  const event = { type: "run.started", payload: { text: "x".repeat(length) } };
  const refusal = async (document: LooseDocument, maxContextBytes: number) => {
    const bytes = new TextEncoder().encode(JSON.stringify(document));
    const reading = readDocument(cut(bytes), { maxBytes: MAX_BYTES, maxContextBytes });
    return (await rejection(reading)).details.issues;
  };
  const withMessage = snapshotOf({ state: { status: "completed", messages: [message] } });
  assert.deepEqual(await refusal(withMessage, length - 1 - surrounding), [{
    path: "state.messages[0]",
    message: `is longer than ${length - 1} characters; max_context_bytes in the config allows more`,
  }]);
  const bytes = new TextEncoder().encode(JSON.stringify(withMessage));
  const maxContextBytes = length - surrounding;
  await using whole = await readDocument(cut(bytes), { maxBytes: MAX_BYTES, maxContextBytes });
  assert.equal(whole.messageCount, 1);
  const [issue] = await refusal(snapshotOf({ events: [event], event_log_count: 1 }), maxContextBytes);
  assert.equal(issue.path, "events[0]");
});

Deno.test("readDocument() upgrades an older version, wherever its version is", async () => {
  const sealed = JSON.parse(sealedText(fullSnapshot()));
  for (const keys of [Object.keys(sealed).sort(), Object.keys(sealed).sort().reverse()]) {
    assert.deepEqual(await read(inOrder(sealed, keys), RENAMED), upgraded(sealed));
  }
});

Deno.test("readDocument() verifies an older version's integrity as it was written", async () => {
  const sealed = JSON.parse(sealedText(fullSnapshot()));
  sealed.state.messages[0].mood = "changed";
  assert.deepEqual((await issuesOf(JSON.stringify(sealed), RENAMED)).map(({ path }) => path), ["integrity"]);
});

Deno.test("readDocument() validates an older version after its upgrade", async () => {
  const document = fullSnapshot();
  document.source_environment = 5;
  document.state.messages[1].content[0].text = 5;
  document.events[1].at = "never";
  const paths = (await issuesOf(JSON.stringify(document), RENAMED)).map(({ path }) => path).sort();
  assert.deepEqual(paths, ["environment", "events[1].at", "state.messages[1].content[0].text"]);
});

Deno.test("readDocument() reports ambiguous JSON in an older version once", async () => {
  for (const version of [1, 2]) {
    const document = version === 1 ? fullSnapshot() : upgraded(fullSnapshot());
    const text = JSON.stringify(document).replace('"role":"user"', '"role":"user","role":"user"')
      .replace('"seq":2', '"seq":2,"n":1e999').replace('"4711"', "nonsense");
    const paths = (await issuesOf(text, RENAMED)).map(({ path }) => path).sort();
    assert.deepEqual(paths, ["events[1].n", "state.messages[0]", "tags"], `version ${version}`);
  }
});

Deno.test("readDocument() refuses elements of an older version that are not objects, and does not upgrade them", async () => {
  for (const value of [null, 5, "x", []]) {
    const document = fullSnapshot();
    document.state.messages[4] = document.events[1] = value;
    const paths = (await issuesOf(JSON.stringify(document), RENAMED)).map(({ path }) => path).sort();
    assert.deepEqual(paths, ["events[1]", "state.messages[4]"], JSON.stringify(value));
    assert.ok((await issuesOf(JSON.stringify({ ...snapshotOf(), state: value }), RENAMED)).length > 0);
  }
});

Deno.test("readDocument() does not change a document of the current version", async () => {
  const document = upgraded(fullSnapshot());
  for (const text of [JSON.stringify(document), sealedText(document)]) {
    assert.deepEqual(await read(text, RENAMED), JSON.parse(text));
  }
  const paths = (await issuesOf(JSON.stringify({ ...document, environment: 5 }), RENAMED)).map(({ path }) =>
    path
  );
  assert.deepEqual(paths, ["environment"]);
});

Deno.test("readDocument() refuses a newer version, and an invalid one", async () => {
  for (const format of [undefined, RENAMED]) {
    const known = format?.version ?? 1;
    const [issue, ...others] = await issuesOf(
      JSON.stringify(snapshotOf({ schema_version: known + 1 })),
      format,
    );
    assert.deepEqual(others, []);
    assert.equal(
      issue!.message,
      `it is of version ${known + 1} of the format, and this program knows up to ${known}; upgrade Purser`,
    );
    for (const version of [0, -1, 0.5, "1", null]) {
      const paths = (await issuesOf(JSON.stringify(snapshotOf({ schema_version: version })), format))
        .map(({ path }) => path);
      assert.ok(paths.includes("schema_version"), `${version}: ${paths}`);
    }
  }
});

Deno.test("readDocument() returns its lists as often as they are read, and disposes its spools at a refusal", async () => {
  const text = JSON.stringify(fullSnapshot());
  for (const format of [undefined, RENAMED]) {
    const bytes = cut(new TextEncoder().encode(text));
    await using snapshot = await readDocument(bytes, { maxBytes: MAX_BYTES, format });
    const first = await Array.fromAsync(snapshot.messages());
    assert.deepEqual(await Array.fromAsync(snapshot.messages()), first);
    assert.deepEqual(await Array.fromAsync(snapshot.events()), await Array.fromAsync(snapshot.events()));
  }
  // More than stays in memory: the test's own check of open files sees to it.
  const message = JSON.stringify({ role: "user", content: "x".repeat(1_000_000) });
  const large = `{"state":{"messages":[${Array.from({ length: 10 }, () => message).join(",")}]}`;
  const error = await rejection(readDocument(cut(new TextEncoder().encode(large)), { maxBytes: 2 ** 30 }));
  assert.equal(error.code, "invalid");
});

Deno.test("readDocument() distinguishes keys that V8 confuses", async () => {
  const withKey = (key: string) => ({ ...snapshotOf().state.messages[0], [key]: 1 });
  const document = snapshotOf({}, { messages: ["\\", "\n", '"', "\\"].map(withKey) });
  await using read = await readDocument(cut(new TextEncoder().encode(sealedText(document))), {
    maxBytes: 10_000,
  });
  const texts = (await Array.fromAsync(read.messages())).flat();
  assert.deepEqual(texts, document.state.messages.map((message) => toCanonicalText(message)));
});
