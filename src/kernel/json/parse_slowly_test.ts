import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { parseSlowly } from "./parse_slowly.ts";

Deno.test("parseSlowly() reads what JSON.parse() reads", () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false } as object), fc.constantFrom(0, 2), (text, space) => {
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
