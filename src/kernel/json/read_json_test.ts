import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { canonicalize } from "./canonical_json.ts";
import { parseSlowly, readJson, type ReadJsonOptions } from "./read_json.ts";
import { anyCharacter } from "../../../tests/harness/any_character.ts";
import { cases } from "../../../tests/harness/thorough.ts";

Deno.test("parseSlowly() reads what JSON.parse() reads", () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: anyCharacter }), fc.constantFrom(0, 2), (text, space) => {
      fc.pre(!text.includes('"__proto__"') && !/\\\\"\s*:/.test(text));
      const written = JSON.stringify(JSON.parse(text), null, space);
      assert.deepEqual(parseSlowly(` ${written}\n`), JSON.parse(written));
    }),
  );
});

Deno.test("parseSlowly() distinguishes keys that V8 confuses", () => {
  JSON.parse('{"shape":1,"\\\\":2}');
  for (const key of ["\n", "\\", '"', "\\\n", "\\n", "a\\"]) {
    const text = JSON.stringify({ shape: 1, [key]: [{ [key]: "\\" }, -1.5e3, true, null, {}, []] });
    assert.equal(JSON.stringify(parseSlowly(text)), text);
  }
});

/** Reads to the end; returns the result and the units of work. */
function readAll(text: string, options?: ReadJsonOptions) {
  const reading = readJson(text, options);
  let units = 0;
  let most = 0;
  for (;;) {
    const { done, value } = reading.next();
    if (done) return { ...value, units, most };
    units += value;
    most = Math.max(most, value);
  }
}

Deno.test("readJson() returns the value and its canonical JSON, with white space anywhere", () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: anyCharacter }), fc.constantFrom(0, 2), (text, space) => {
      fc.pre(!text.includes('"__proto__"') && !/\\\\"\s*:/.test(text));
      const value = JSON.parse(text);
      const faults: string[] = [];
      const onFault = (path: readonly (string | number)[], message: string) =>
        void faults.push(`${path.join(".")} ${message}`);
      const read = readAll(` ${JSON.stringify(value, null, space)}\n`, { onFault });
      const expected: string[] = [];
      const canonical = canonicalize(value, (path, message) => expected.push(`${path.join(".")} ${message}`));
      assert.deepEqual(read.value, value);
      assert.equal(read.text, canonical.text);
      assert.equal(read.keyCount, canonical.keyCount);
      assert.deepEqual(faults.sort(), expected.sort());
    }),
  );
});

Deno.test("readJson() refuses exactly the texts that JSON.parse() refuses", () => {
  const refuses = (read: () => unknown) => {
    try {
      read();
      return false;
    } catch (error) {
      assert.ok(error instanceof SyntaxError, String(error));
      return true;
    }
  };
  const character = fc.constantFrom(...'{}[]",:\\u0 \n1-e.tfnulrsa');
  const anything = fc.array(character, { maxLength: 12 }).map((characters) => characters.join(""));
  const damaged = fc.tuple(fc.json(), fc.nat(), character).map(([text, at, more]) => {
    const index = at % (text.length + 1);
    return text.slice(0, index) + more + text.slice(index + at % 2);
  });
  fc.assert(
    fc.property(fc.oneof(anything, damaged), (text) => {
      const onFault = () => {};
      assert.equal(
        refuses(() => readAll(text, { onFault })),
        refuses(() => JSON.parse(text)),
        text,
      );
    }),
    { numRuns: cases(1_000) },
  );
});

Deno.test("readJson() sorts the keys of large objects, and keeps all members of large arrays", () => {
  const count = 20_000;
  const object = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${(i * 7919) % count}`, i]));
  const text = JSON.stringify({ object, array: Array.from({ length: count }, (_, i) => i) });
  assert.equal(readAll(text).text, canonicalize(JSON.parse(text)).text);
  const sample = readAll(text, { structure: { depth: 1, maxMembers: 10 } });
  assert.equal(sample.text, canonicalize(JSON.parse(text)).text);
  assert.equal(sample.keyCount, count + 2);
  const { object: few, array } = sample.value as { object: object; array: unknown[] };
  assert.deepEqual([Object.keys(few).length, array.length], [10, 10]);
});

Deno.test("readJson() reports containers with too many members where a schema looks at them", () => {
  const list = JSON.stringify(Array(11).fill(0));
  const faultsOf = (text: string) => {
    const faults: string[] = [];
    const onFault = (path: readonly (string | number)[], message: string) =>
      void faults.push(`${path.join(".")}: ${message}`);
    readAll(text, { onFault, structure: { depth: 2, maxMembers: 10 } });
    return faults;
  };
  assert.deepEqual(faultsOf(`{"a":${list},"b":[${list}]}`), ["a: has more than 10 members"]);
  assert.deepEqual(faultsOf(list), [": has more than 10 members"]);
  assert.deepEqual(faultsOf(`{"a":${JSON.stringify(Array(10).fill(0))}}`), []);
});

Deno.test("readJson() does not count a duplicate key", () => {
  const keys = Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`);
  for (const twice of [0, 30, 4_999]) {
    assert.equal(readAll(`{${[...keys, `"k${twice}":2`].join(",")}}`).keyCount, 5_000);
  }
});

Deno.test("readJson() adds the members that the root lacks, in their place", () => {
  const defaults = { b: '"x"', d: "1" };
  assert.equal(readAll('{"e":{},"c":{"a":1},"b":2}', { defaults }).text, '{"b":2,"c":{"a":1},"d":1,"e":{}}');
  assert.equal(readAll("{}", { defaults }).text, '{"b":"x","d":1}');
});

Deno.test("the work of readJson() grows with the text, not faster, also for keys that end with backslashes", () => {
  const keysOf = (count: number, end: string) =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}${end}":1`).join(",")}}`;
  for (const end of ["", "\\\\", "\\\\".repeat(50), '\\"']) {
    const [small, large] = [10_000, 80_000].map((count) => readAll(keysOf(count, end)));
    assert.ok(large!.units < 12 * small!.units, `${large!.units} units against ${small!.units}`);
    assert.ok(large!.most <= 256 * 1024, `${large!.most} units without a pause`);
  }
});
