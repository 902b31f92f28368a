import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { measureJson } from "./json_work.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** Counts the values of JSON, the names that are new after those before them, and the short strings that are new. */
function plainWork(value: unknown): number {
  const words = new Set<string>();
  let values = 1;
  const visit = (value: unknown) => {
    if (typeof value === "string") {
      if (encode(JSON.stringify(value)).length - 2 <= 16) words.add(`text ${value}`);
    }
    if (typeof value !== "object" || value === null) return;
    values += 1 + Math.max(0, Object.keys(value).length - 1);
    let shape = "";
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) words.add(shape = `${shape} ${JSON.stringify(name)}`);
      visit(member);
    }
  };
  visit(value);
  return values + 10 * words.size;
}

Deno.test("measureJson() counts the values and the new words of any JSON, whatever its strings have", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", ",", "[", "{", ":", "é"), maxLength: 30 });
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ depthSize: "small" }, text, fc.integer(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("any")),
    object: fc.dictionary(text, tie("any")),
  })).any;
  await fc.assert(fc.asyncProperty(value, fc.boolean(), async (value, isIndented) => {
    // A text that is too short for its limit isn't looked at.
    const json = JSON.stringify([value], null, isIndented ? 2 : 0) + " ".repeat(30_000);
    const inner = [...json.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!).join("");
    const escapes = inner.match(/\\./g)?.length ?? 0;
    const outside = encode(json).length - encode(inner).length;
    const expected = plainWork([value]) + Math.floor(escapes / 8) + Math.floor(outside / 32);
    assert.equal(await measureJson(encode(json), 80_000), expected, json);
  }));
});

const list = (count: number, item: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => item(i)).join();

/** Returns twenty names in one of many orders. */
const inOrder = (seed: number) => {
  const places = Array.from(
    "abcdefghijklmnopqrst",
    (name, i) => ({ name, at: (seed * 7_919 * (i + 1) ** 3) % 99_991 }),
  );
  return places.sort((a, b) => a.at - b.at).map(({ name }) => name);
};

Deno.test("measureJson() is Infinity where a text takes long to parse, by whatever it has many of", async () => {
  const shapes: Record<string, string> = {
    numbers: `[${list(400_000, () => "1")}]`,
    names: `{${list(40_000, (i) => `"k${i}":1`)}}`,
    "names in small objects": `[${list(4_000, (i) => `{${list(10, (j) => `"f${i}_${j}":1`)}}`)}]`,
    "the same names in other orders": `[${
      list(3_000, (i) => `{${inOrder(i).map((name) => `"${name}":1`)}}`)
    }]`,
    "long names": `{${list(40_000, (i) => `"${"k".repeat(70)}${i}":1`)}}`,
    "names of escapes": `{${
      list(40_000, (i) =>
        `"${
          [...i.toString(8)].map((digit) => "\\" + '"\\/bfnrt'[Number(digit)]).join("")
        }":1`)
    }}`,
    "short strings": `[${list(40_000, (i) => `"${i}"`)}]`,
    escapes: `"${"\\n".repeat(3_300_000)}"`,
    "escaped surrogates": `"${"\\ud800".repeat(3_300_000)}"`,
    "digits of one number": "9".repeat(13_000_000),
    blanks: " ".repeat(13_000_000),
    lists: "[".repeat(400_000),
  };
  for (const [name, json] of Object.entries(shapes)) {
    assert.equal(await measureJson(encode(json), 400_000), Infinity, name);
  }
});

Deno.test("measureJson() lets pass what large requests have: one long text, many alike messages, token ids", async () => {
  const message = (i: number) =>
    `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01A09q90qw90lq91${i}","content":"done"}]}`;
  const requests = [
    `{"model":"m","input":"${"x".repeat(30_000_000)}"}`,
    `{"model":"m","messages":[${list(30_000, message)}]}`,
    `{"model":"m","input":[${list(300_000, (i) => String(i % 100_000))}]}`,
  ];
  for (const json of requests) assert.notEqual(await measureJson(encode(json), 400_000), Infinity);
});

Deno.test("measureJson() reads what is no JSON to its end, too", async () => {
  for (const text of ["}}}]]]", '"', '"\\', '["abc', "[[[", '{"a":"\\"', ":,:,:"]) {
    assert.ok(await measureJson(encode(" ".repeat(100) + text), 50) <= 50);
  }
});
