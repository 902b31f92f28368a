import assert from "node:assert/strict";
import { listMessages } from "./harness/sessions.ts";
import fc from "#dev/fast_check.ts";
import { bookCall } from "../src/calls/mod.ts";
import { toIso } from "../src/kernel/clock.ts";
import { type NewMessage, newMessage } from "../src/sessions/mod.ts";
import { listSessionEvents } from "../src/sessions/mod.ts";
import { listImportedEvents } from "../src/snapshots/mod.ts";
import { beginRun, createBooking } from "./harness/booking.ts";
import { type DatabaseKind, dialectKinds } from "./harness/databases.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { modelCall } from "./harness/model_calls.ts";
import { seededRandom } from "./harness/random.ts";
import {
  anySnapshot,
  fullSnapshot,
  lasting,
  type LooseDocument,
  plain,
  sealedText,
} from "./harness/any_snapshot.ts";
import { exportText, restore, snapshotOf, type TestSnapshots, withSnapshots } from "./harness/snapshots.ts";
import { cases } from "./harness/thorough.ts";

const RUNS: Record<DatabaseKind["name"], number> = { file: 8, memory: 25, sqld: 3, postgres: 1 };

/** An independent way to write JSON. */
const spelling = fc.record({
  seed: fc.nat(),
  gap: fc.constantFrom("", " ", "\r\n\t"),
  isEscaped: fc.boolean(),
  hasFractions: fc.boolean(),
});
type Spelling = typeof spelling extends fc.Arbitrary<infer T> ? T : never;

/** A value as JSON with its members in any order. */
function spell(value: unknown, { seed, gap, isEscaped, hasFractions }: Spelling): string {
  const random = seededRandom(seed);
  const escapeUnit = (unit: string) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  const quote = (text: string) =>
    isEscaped ? `"${text.split("").map(escapeUnit).join("")}"` : JSON.stringify(text);
  const write = (item: unknown): string => {
    if (typeof item === "string") return quote(item);
    if (Object.is(item, -0)) return hasFractions ? "-0.0e0" : "-0";
    if (Number.isSafeInteger(item) && hasFractions) return `${item}.0`;
    if (typeof item !== "object" || item === null) return JSON.stringify(item);
    if (Array.isArray(item)) return `[${gap}${item.map(write).join(`${gap},${gap}`)}${gap}]`;
    const entries = Object.entries(item).map((entry) => ({ entry, at: random() })).sort((a, b) =>
      a.at - b.at
    );
    const members = entries.map(({ entry: [key, member] }) => `${quote(key)}${gap}:${gap}${write(member)}`);
    return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`;
  };
  return write(value);
}

/** The expected document after it was restored; messages without an id have got one. */
function restored(document: LooseDocument, exported: LooseDocument): LooseDocument {
  const expected = lasting(document);
  if (expected.state.status === "running") expected.state.status = "interrupted";
  expected.state.messages = expected.state.messages.map((message: LooseDocument, index: number) => ({
    id: exported.state.messages[index]?.id,
    created_at: toIso(Date.parse(document.exported_at)),
    ...message,
  }));
  return expected;
}

async function exportOf(ctx: TestSnapshots, sessionId: string, withEvents = false): Promise<LooseDocument> {
  const text = await exportText(ctx, { sessionId, withEvents });
  const document = JSON.parse(text);
  assert.equal(text, sealedText(document), "it is not canonical, or its integrity is wrong");
  return document;
}

/** The same document for a session and an agent of its own. */
function named(document: LooseDocument, name: string): LooseDocument {
  const agent = document.agent && { ...document.agent, agent_id: name, name };
  return { ...document, agent_id: name, session_id: name, ...(agent && { agent }) };
}

for (const kind of dialectKinds()) {
  const { name, ignore } = kind;
  const test = (sentence: string, body: (ctx: TestSnapshots) => Promise<void>): void => {
    Deno.test({
      name: `${name}: ${sentence}`,
      ignore,
      async fn() {
        await using database = await kind.create();
        const clock = eagerClock();
        const booking = await createBooking(await database.open({ clock }), { clock });
        await body(withSnapshots(booking, { maxSnapshotBytes: 64 * 1024 * 1024 }));
      },
    });
  };
  const check = (property: (document: LooseDocument, spelling: Spelling) => Promise<void>): Promise<void> =>
    fc.assert(fc.asyncProperty(anySnapshot, spelling, property), {
      numRuns: cases(RUNS[name]),
      // Shrinking would restore hundreds of documents more.
      ...(name === "sqld" ? { endOnFailure: true } : { interruptAfterTimeLimit: 15_000 }),
    });

  test("any restored document is exported unchanged, twice", async (ctx) => {
    let count = 0;
    await check(async (generated, style) => {
      const id = `s${count++}`;
      const document = named(generated, id);
      await restore(ctx, spell(document, style));
      const first = await exportOf(ctx, id);
      assert.deepEqual(lasting(first), restored(document, first));
      for (const { id } of first.state.messages) assert.ok(typeof id === "string" && id !== "");
      assert.deepEqual(await listMessages(ctx, id), first.state.messages);
      assert.deepEqual([first.source_environment, first.event_log_count, first.events], [
        "test",
        2,
        undefined,
      ]);
      await restore(ctx, JSON.stringify(first));
      const second = await exportOf(ctx, id);
      assert.deepEqual(lasting(second), lasting(first));
      assert.equal(second.event_log_count, 3);
    });
  });

  test("a restored history is exported unchanged, marked with its origin", async (ctx) => {
    let count = 0;
    await check(async (generated, style) => {
      const id = `s${count++}`;
      const document = named(generated, id);
      const { events = [], source_environment: source } = document;
      const { events_imported } = await restore(ctx, spell(document, style));
      assert.equal(events_imported, events.length);
      const marked = plain(events).map((event: object) => ({ imported_from: source, ...event }));
      const first = await exportOf(ctx, id, true);
      assert.deepEqual(first.events.slice(0, events.length), marked);
      const own = await ownEvents(ctx, id);
      assert.deepEqual(first.events.slice(events.length), own);
      assert.equal(first.event_log_count, own.length);
      const listed = await listImportedEvents(ctx, { sessionId: id, after: 0, limit: 1_000 });
      assert.deepEqual(
        listed,
        marked.map((event: object, index: number) => ({ ...event, position: index + 1 })),
      );

      const elsewhere = { ...ctx, environment: "elsewhere" };
      await restore(elsewhere, JSON.stringify(first));
      const second = await exportOf(elsewhere, id, true);
      const hop = [...marked, ...own.map((event) => ({ ...event, imported_from: "test" }))];
      assert.deepEqual(second.events, [...hop, ...await ownEvents(ctx, id)]);
      assert.deepEqual([second.source_environment, second.event_log_count], ["elsewhere", 3]);
    });
  });

  test("a long session of small, large and huge messages is exported unchanged", async (ctx) => {
    const huge = "x😀\u0000é\u2028".repeat(120_000);
    const messages = Array.from({ length: 700 }, (_, index) => ({
      id: `msg_${index}`,
      created_at: "2026-11-20T08:00:00.000Z",
      role: index % 2 ? "assistant" : "user",
      content: index === 600 ? huge : index % 100 === 0 ? "ß".repeat(300_000) : `${index}`,
    }));
    const event = fullSnapshot().events[0];
    const events = Array.from({ length: 700 }, (_, seq) => ({
      ...event,
      seq,
      payload: { text: seq % 200 === 0 ? "é".repeat(100_000) : "" },
    }));
    const document = snapshotOf({ events }, { messages });
    await restore(ctx, document);
    const exported = await exportOf(ctx, "ses", true);
    assert.deepEqual(lasting(exported), restored(document, exported));
    assert.deepEqual(
      exported.events.slice(0, events.length),
      events.map((one) => ({ ...one, imported_from: "production" })),
    );
    assert.deepEqual(await listMessages(ctx, "ses"), messages);
  });

  test("messages that are accepted one by one are accepted together", async (ctx) => {
    // 3 MB each in UTF-8: a libSQL server accepts 5 MB at once.
    const messages = Array.from({ length: 3 }, () => ({ role: "user", content: "漢".repeat(1_000_000) }));
    await restore(ctx, snapshotOf({}, { messages: messages.slice(1, 2) }));
    await restore(ctx, snapshotOf({}, { messages }));
    assert.equal((await listMessages(ctx, "ses")).length, 3);
  });

  test("messages of every kind that a run stores are exported as a document that can be imported", async (ctx) => {
    const place = await beginRun(ctx, { sessionId: "ses" });
    const add = (messages: NewMessage[]) =>
      bookCall(ctx, {
        run: place,
        call: modelCall({ callId: ctx.ids.next("call"), ...place, at: ctx.clock.now() }),
        progress: { events: [], messages },
      });
    for (const message of runMessages()) await add([newMessage(ctx.ids, ctx.clock.now(), message)]);
    for (const withEvents of [false, true]) {
      const first = await exportOf(ctx, "ses", withEvents);
      const copy = named(first, `copy-${withEvents}`);
      delete copy.integrity;
      await restore(ctx, copy);
      const second = await exportOf(ctx, copy.session_id);
      assert.deepEqual(second.state.messages, first.state.messages);
    }
  });
}

/** The log of this environment as a snapshot has it. */
async function ownEvents(ctx: TestSnapshots, sessionId: string): Promise<LooseDocument[]> {
  const events = await listSessionEvents(ctx, { sessionId, after: 0, limit: 1_000 });
  return events.map(({ event_id: _eventId, ...event }) => event);
}

function nest(depth: number, value: unknown = 1): unknown {
  let nested = value;
  for (let i = 0; i < depth; i++) nested = i % 2 ? [nested] : { "[{": nested };
  return nested;
}

/** Messages as the AI SDK returns them, with values that JSON can't represent. */
function runMessages(): { role: string; content: unknown; [field: string]: unknown }[] {
  const proto = JSON.parse('{"__proto__":{"__proto__":1},"a":{"__proto__":"x"}}');
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const half = "a\ud800b\udfff";
  const values = [
    proto,
    nest(2_000),
    nest(500),
    nest(498, half),
    { [half]: half, at: new Date(0), none: undefined, bytes, nan: NaN, far: -Infinity, zero: -0 },
    [undefined, () => 1, Symbol("x"), new Map([[1, 2]]), new Set([1])],
    "__proto__",
    '"__proto__"',
    "\\ud800",
    Buffer.from("buffer"),
    new URL("https://a.example/b"),
    undefined,
    null,
  ];
  const url = new URL("data:,x");
  const calls = values.map((input, index) => ({
    type: "tool-call",
    toolCallId: `call_${index}`,
    toolName: "t",
    input: input ?? null,
    providerOptions: { google: { thoughtSignature: half, proto } },
  }));
  const outputs = [
    (value: unknown) => ({ type: "json", value: value ?? null }),
    (value: unknown) => ({ type: "error-json", value: value ?? null }),
    (value: unknown) => ({
      type: "content",
      value: [{ type: "media", data: value }, { type: "text", text: half }],
    }),
  ];
  return [
    { role: "user", content: half },
    {
      role: "user",
      content: [
        { type: "image", image: bytes, mediaType: "image/png" },
        { type: "image", image: url },
        { type: "image", image: bytes.buffer },
        { type: "file", data: Buffer.from(bytes), mediaType: "a/b", filename: half },
        { type: "file", data: { type: "data", data: bytes }, mediaType: "a/b" },
        { type: "file", data: { type: "url", url }, mediaType: "a/b" },
      ],
    },
    {
      role: "assistant",
      content: [
        {
          type: "reasoning",
          text: half,
          providerOptions: { anthropic: { signature: half, at: new Date(0) } },
        },
        { type: "reasoning-file", data: bytes, mediaType: "image/png" },
        { type: "custom", kind: "a.b", value: proto },
        { type: "text", text: half, providerOptions: undefined },
      ],
    },
    ...outputs.flatMap((output, turn) => [
      {
        role: "assistant",
        content: calls.map((call) => ({ ...call, toolCallId: `${turn}/${call.toolCallId}` })),
      },
      {
        role: "tool",
        content: calls.map(({ toolCallId, toolName }, index) => ({
          type: "tool-result",
          toolCallId: `${turn}/${toolCallId}`,
          toolName,
          output: output(values[index]),
        })),
      },
    ]),
    { role: "assistant", content: [], providerOptions: { a: proto }, [half]: half },
  ];
}
