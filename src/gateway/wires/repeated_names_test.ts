import assert from "node:assert/strict";
import { findRepeatedName } from "./repeated_names.ts";

const CASES: [text: string, repeated: string | undefined][] = [
  ['{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}', undefined],
  ['{"a":"b","b":"a","c":["a","a",{"a":"a"}]}', undefined],
  ['{"a":1,"a":2}', "a"],
  ['{"a":1,"b":2,"c":3,"a":4}', "a"],
  ['{"x":[[{"type":1,"t\\u0079pe":2}]]}', "type"],
  ['{"x":{"\\u00e9":1,"é":2}}', "é"],
  ['{"x":{"漢":1,"b":2,"漢":3}}', "漢"],
  ['{"x":{"":1,"":2}}', ""],
  ['{"x":{"a":{"b":1},"a":2}}', "a"],
  ['{"\\"a":1,"a":2}', undefined],
  ['{"a" :1, "a"\n:2}', "a"],
  ['[{"a":1},{"a":2}]', undefined],
];

Deno.test("findRepeatedName() finds a name that an object has twice at any depth, however it is written", () => {
  for (const [text, repeated] of CASES) {
    assert.equal(findRepeatedName(new TextEncoder().encode(text)), repeated, text);
  }
});
