import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyCharacter } from "../../../tests/harness/any_character.ts";
import { parseSlowly } from "./read_json.ts";
import { JsonFault, type JsonPart, splitJson, type SplitOptions } from "./split_json.ts";

const OPTIONS: SplitOptions = { arrays: [["state", "messages"], ["events"]], maxDepth: 3 };
const DEEP: SplitOptions = { ...OPTIONS, maxDepth: 100 };

/** Chunks of these sizes in turn. */
async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<string> {
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield text.slice(at, at + size);
    at += size;
  }
}

function split(text: string, sizes: readonly number[] = [text.length], options = OPTIONS) {
  return Array.fromAsync(splitJson(cut(text, sizes), options));
}

async function findFault(text: string, sizes?: readonly number[], options?: SplitOptions) {
  try {
    await split(text, sizes, options);
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
  throw new Error(`no fault in ${text}`);
}

/** The value that the parts say. Throws on a part that is out of order or no JSON. */
function assemble(parts: readonly JsonPart[]): unknown {
  const root = {};
  const holderOf = (path: readonly string[]) =>
    path.reduce<unknown>((holder, key) => (holder as Record<string, unknown>)[key], root);
  for (const part of parts) {
    if (part.kind === "element") {
      const array = holderOf(part.path) as unknown[];
      assert.equal(array.push(parseRightly(part.text)) - 1, part.index);
    } else {
      const holder = holderOf(part.path.slice(0, -1)) as Record<string, unknown>;
      const empty = () => part.kind === "open" && part.type === "array" ? [] : {};
      holder[part.path.at(-1)!] = part.kind === "open" ? empty() : parseRightly(part.text);
    }
  }
  return root;
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((count: number, item) => count + countKeys(item), own);
}

function escapeAll(text: string): string {
  const escapeUnit = (unit: string) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0");
  return text.replace(
    /"(?:[^"\\]|\\.)*"/g,
    (string) => `"${JSON.parse(string).split("").map(escapeUnit).join("")}"`,
  );
}

const hardString = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({
    unit: fc.constantFrom("\\", '"', "[", "]", "{", "}", ",", ":", " ", "\n", "é", "😀", "\ud800"),
  }),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  hardString,
  fc.array(hardString),
  fc.dictionary(hardString, fc.array(hardString)),
);
const extras = fc.dictionary(hardString.filter((key) => key !== "__proto__"), value, { maxKeys: 3 });
const list = fc.oneof({ weight: 4, arbitrary: fc.array(value) }, { weight: 1, arbitrary: value });

/** Members in any order. */
function documentOf(known: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.tuple(fc.record(known, { requiredKeys: [] }), extras).chain(([some, others]) => {
    const entries = Object.entries({ ...others, ...some });
    return fc.shuffledSubarray(entries, { minLength: entries.length }).map(Object.fromEntries);
  });
}

const state = fc.oneof(
  { weight: 4, arbitrary: documentOf({ messages: list, status: value }) },
  { weight: 1, arbitrary: value.filter((item) => !JSON.stringify(item).includes('"__proto__"')) },
);
const documentText = fc.tuple(
  documentOf({ agent_id: value, events: list, state }),
  fc.constantFrom("", " ", "\t", "\r\n  "),
  fc.boolean(),
).map(([document, gap, isEscaped]) => {
  const text = JSON.stringify(document, null, gap);
  return isEscaped ? escapeAll(text) : text;
});
const chunkSizes = fc.oneof(
  fc.constant([1]),
  fc.array(fc.nat(20)).map((sizes) => [...sizes, 7]),
  fc.constant([100_000]),
);

Deno.test("splitJson() yields members whole and the elements of tracked arrays one by one", async () => {
  const text = ' {"agent_id" : "a\\"]", "state":{"messages":[{"id":1,"x":{"y":[]}} , 2,[ ]],"status":null},' +
    '\r\n\t"events":[ ], "cost":-1.5e+3 } \n';
  assert.deepEqual(await split(text), [
    { kind: "member", path: ["agent_id"], text: '"a\\"]"', keyCount: 0 },
    { kind: "open", path: ["state"], type: "object" },
    { kind: "open", path: ["state", "messages"], type: "array" },
    { kind: "element", path: ["state", "messages"], index: 0, text: '{"id":1,"x":{"y":[]}}', keyCount: 3 },
    { kind: "element", path: ["state", "messages"], index: 1, text: "2", keyCount: 0 },
    { kind: "element", path: ["state", "messages"], index: 2, text: "[ ]", keyCount: 0 },
    { kind: "member", path: ["state", "status"], text: "null", keyCount: 0 },
    { kind: "open", path: ["events"], type: "array" },
    { kind: "member", path: ["cost"], text: "-1.5e+3", keyCount: 0 },
  ]);
});

Deno.test("splitJson() yields a tracked path of another type as a plain member", async () => {
  assert.deepEqual(await split('{"events":{"a":1},"state":[{"messages":[]}]}'), [
    { kind: "member", path: ["events"], text: '{"a":1}', keyCount: 1 },
    { kind: "member", path: ["state"], text: '[{"messages":[]}]', keyCount: 1 },
  ]);
  assert.deepEqual(await split('{"state":{"messages":5}}'), [
    { kind: "open", path: ["state"], type: "object" },
    { kind: "member", path: ["state", "messages"], text: "5", keyCount: 0 },
  ]);
});

Deno.test("splitJson() decodes the keys it tracks, and compares their decoded form", async () => {
  assert.deepEqual(await split('{"\\u0061gent_id":1,"ev\\u0065nts":[2],"\\"\\\\":3}'), [
    { kind: "member", path: ["agent_id"], text: "1", keyCount: 0 },
    { kind: "open", path: ["events"], type: "array" },
    { kind: "element", path: ["events"], index: 0, text: "2", keyCount: 0 },
    { kind: "member", path: ['"\\'], text: "3", keyCount: 0 },
  ]);
});

Deno.test("splitJson() skips a byte order mark at the start, and there only", async () => {
  assert.deepEqual(await split("\ufeff{}"), []);
  assert.deepEqual(await split("\ufeff {}", [0, 1]), []);
  assert.equal((await findFault("\ufeff\ufeff{}", [1])).message, "it is not a JSON object");
  assert.deepEqual(assemble(await split('{"a":"\ufeff"}', [1])), { a: "\ufeff" });
});

Deno.test("splitJson() accepts a value as deep as the limit, counted from its own bracket", async () => {
  assert.equal((await split('{"state":{"messages":[[[[]]]]},"a":[{"b":[1]}]}')).length, 4);
  const none = { ...OPTIONS, maxDepth: 0 };
  assert.equal((await split('{"events":["[[",1],"a":true}', undefined, none)).length, 4);
  assert.equal((await findFault('{"events":[[]]}', undefined, none)).path, "events[0]");
});

const LONG = "k".repeat(1000);
const CUT = "k".repeat(80) + "…";

for (
  const [text, path, message, offset] of [
    ["", "", "the document is empty", 0],
    [" \n", "", "the document is empty", 2],
    ["\ufeff", "", "the document is empty", 1],
    [" []", "", "it is not a JSON object", 1],
    ["null", "", "it is not a JSON object", 0],
    ["\u00a0{}", "", "it is not a JSON object", 0],
    ["/**/{}", "", "it is not a JSON object", 0],
    ["{} {}", "", "text follows its end", 3],
    ["{}\0", "", "text follows its end", 2],
    ['{"a":1}}', "", "text follows its end", 7],
    ["{", "", "it is truncated", 1],
    ['{"ab', "", "it is truncated", 4],
    ['{"a"', "a", "it is truncated", 4],
    ['{"a":', "a", "it is truncated", 5],
    ['{"a":12', "a", "it is truncated", 7],
    ['{"a":{"b":"\\"}', "a", "it is truncated", 14],
    ['{"a":1,', "", "it is truncated", 7],
    ['{"state":{', "state", "it is truncated", 10],
    ['{"state":{"messages":[', "state.messages[0]", "it is truncated", 22],
    ['{"state":{"messages":[1,{"a":"', "state.messages[1]", "it is truncated", 30],
    ['{"state":{"messages":[1,2]', "state.messages", "it is truncated", 26],
    ["{,}", "", "a key or } must follow", 1],
    ["{a:1}", "", "a key or } must follow", 1],
    ["{'a':1}", "", "a key or } must follow", 1],
    ["{\u00a0}", "", "a key or } must follow", 1],
    ['{"a":1,}', "", "a key must follow", 7],
    ['{"state":{"b":1,}}', "state", "a key must follow", 16],
    ['{"a" 1}', "a", "a colon must follow", 5],
    ['{"a"=1}', "a", "a colon must follow", 4],
    ['{"a"/**/:1}', "a", "a colon must follow", 4],
    ['{"a":}', "a", "a value must follow", 5],
    ['{"a"::1}', "a", "a value must follow", 5],
    ['{"a":/**/1}', "a", "a value must follow", 5],
    ['{"events":[,1]}', "events[0]", "a value or ] must follow", 11],
    ['{"events":[}', "events[0]", "a value or ] must follow", 11],
    ['{"events":[1,]}', "events[1]", "a value must follow", 13],
    ['{"events":[1 2]}', "events[0]", "a comma or ] must follow", 13],
    ['{"events":[[]"x"]}', "events[0]", "a comma or ] must follow", 13],
    ['{"events":[1}', "events[0]", "a comma or ] must follow", 12],
    ['{"a":1 "b":2}', "a", "a comma or } must follow", 7],
    ['{"a":1;"b":2}', "a", "a comma or } must follow", 6],
    ['{"a":1//\n}', "a", "a comma or } must follow", 6],
    ['{"a":1]', "a", "a comma or } must follow", 6],
    ['{"a":"x""y"}', "a", "a comma or } must follow", 8],
    ['{"state":{}]', "state", "a comma or } must follow", 11],
    ['{"\\x":1}', "", "a key is not a valid JSON string", 1],
    ['{"a\nb":1}', "", "a key is not a valid JSON string", 1],
    ['{"agent_id":1,"\\u0061gent_id":1}', "", "the key agent_id is duplicated", 14],
    ['{"state":{"a":1,"a":1}}', "state", "the key a is duplicated", 16],
    ['{"events":[],"events":[]}', "", "the key events is duplicated", 13],
    ['{"__proto__":1}', "", "the key __proto__ is not allowed", 1],
    ['{"state":{"_\\u005fproto__":1}}', "state", "the key __proto__ is not allowed", 10],
    ['{"a":[[[[', "a", "it is nested deeper than 3 levels", 8],
    ['{"state":{"messages":[0,{"a":[{"b":{', "state.messages[1]", "it is nested deeper than 3 levels", 35],
    [`{"${LONG}" 1}`, CUT, "a colon must follow", 1004],
    [`{"${LONG}":1,"${LONG}":1}`, "", `the key ${CUT} is duplicated`, 1006],
  ] as const
) {
  Deno.test(`splitJson() refuses ${JSON.stringify(text.replaceAll(LONG, CUT))}: ${path}: ${message}`, async () => {
    for (const size of [text.length, 1, 3]) {
      const fault = await findFault(text, [size]);
      assert.deepEqual([fault.path, fault.message, fault.offset], [path, message, offset]);
      assert.equal(fault.name, "JsonFault");
    }
  });
}

Deno.test("splitJson() yields all parts before a fault, and releases its source there", async () => {
  let chunkCount = 0;
  let isReleased = false;
  async function* source() {
    try {
      for (const chunk of ['{"a":1,"ev', 'ents":[2,[[[[', "never asked for"]) {
        chunkCount++;
        yield await Promise.resolve(chunk);
      }
    } finally {
      isReleased = true;
    }
  }
  const seen: string[] = [];
  await assert.rejects(async () => {
    for await (const part of splitJson(source(), OPTIONS)) {
      seen.push(part.kind === "open" ? part.type : part.text);
    }
  }, JsonFault);
  assert.deepEqual(seen, ["1", "array", "2"]);
  assert.deepEqual([chunkCount, isReleased], [2, true]);
});

Deno.test("splitJson() yields a part as soon as its text is complete", async () => {
  async function* source() {
    yield '{"events":[{"id":1}';
    yield await Promise.reject(new Error("the line is cut"));
  }
  const parts = splitJson(source(), OPTIONS);
  assert.equal((await parts.next()).value.kind, "open");
  assert.equal((await parts.next()).value.text, '{"id":1}');
  await assert.rejects(parts.next(), /the line is cut/);
});

/**
 * Text that `JSON.parse` accepts, and its expected value: keys that end with a backslash, also of texts before this one,
 * mislead V8's; see `parseSlowly`.
 */
function parseRightly(text: string): unknown {
  JSON.parse(text);
  return parseSlowly(text);
}

Deno.test("splitJson() yields the parts of a text, however it is formatted and chunked", async () => {
  await fc.assert(
    fc.asyncProperty(documentText, chunkSizes, async (text, sizes) => {
      assert.deepEqual(assemble(await split(text, sizes, DEEP)), parseRightly(text));
    }),
    { numRuns: 300 },
  );
});

Deno.test("splitJson() refuses every truncated document", async () => {
  await fc.assert(
    fc.asyncProperty(documentText, chunkSizes, fc.nat(), async (text, sizes, seed) => {
      const end = seed % text.length;
      const fault = await findFault(text.slice(0, end), sizes, DEEP);
      assert.equal(fault.message, end === 0 ? "the document is empty" : "it is truncated");
      assert.equal(fault.offset, end);
    }),
    { numRuns: 300 },
  );
});

Deno.test("splitJson() and JSON.parse() of its texts accept exactly what JSON.parse() accepts", async () => {
  const slip = fc.constantFrom(
    "",
    ",",
    ":",
    '"',
    "\\",
    "[",
    "]",
    "{",
    "}",
    "0",
    "-",
    " ",
    "\u00a0",
    "/**/",
    "x",
  );
  const parse = (text: string): unknown => {
    try {
      return parseRightly(text);
    } catch {
      return undefined;
    }
  };
  await fc.assert(
    fc.asyncProperty(documentText, slip, fc.nat(), fc.nat(1), async (text, insert, seed, skip) => {
      const at = seed % text.length;
      const broken = text.slice(0, at) + insert + text.slice(at + skip);
      const expected = parse(broken);
      try {
        assert.deepEqual(assemble(await split(broken, [5], DEEP)), expected);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        const isObject = typeof expected === "object" && expected !== null && !Array.isArray(expected);
        assert.ok(!isObject || /is duplicated|not allowed/.test(String(error)), String(error));
      }
    }),
    { numRuns: 250 },
  );
});

Deno.test("keyCount is the number of parsed keys, and higher where a key is duplicated", async () => {
  await fc.assert(
    fc.asyncProperty(value, hardString, value, chunkSizes, async (item, key, twin, sizes) => {
      const member = (content: unknown) => `${JSON.stringify(key)}: ${JSON.stringify(content)}`;
      const twice = `[{${member(item)},${member(twin)}}]`;
      const parts = await split(`{"a":${JSON.stringify(item)},"events":[${twice}]}`, sizes, DEEP);
      const [single, , doubled] = parts;
      assert.ok(single?.kind === "member" && doubled?.kind === "element");
      // V8's own reading may take a key for one of an earlier document that ends with a backslash.
      assert.equal(single.keyCount, countKeys(parseSlowly(single.text)));
      assert.equal(doubled.text, twice);
      assert.equal(doubled.keyCount, 2 + countKeys(item) + countKeys(twin));
      assert.ok(doubled.keyCount > countKeys(parseSlowly(doubled.text)));
    }),
    { numRuns: 200, examples: [[{ "\\": 1 }, '"', "", [7]], [{}, '"', "", [7]]] },
  );
});

Deno.test("splitJson() reads a string of 8 MB that comes in small chunks", async () => {
  const long = 'a "word" \\ and : [more] '.repeat(8_000_000 / 24);
  const [open, element] = await split(JSON.stringify({ events: [{ long }] }), [1024]);
  assert.equal(open?.kind, "open");
  assert.ok(element?.kind === "element" && JSON.parse(element.text).long === long);
  assert.equal(element.keyCount, 1);
});
