import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { findAmbiguity, spliceMember } from "./splice_json.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const splice = (text: string, name: string, value: string) =>
  new TextDecoder().decode(spliceMember(encode(text), [name], value));

const ROWS: [text: string, expected: string][] = [
  ['{"a":1}', '{"x":9,"a":1}'],
  ["{}", '{"x":9}'],
  [" { } ", ' {"x":9 } '],
  ['{"x":1}', '{"x":9}'],
  ['{"x" : {"y":[1,"}"]} , "z":1.0}', '{"x" : 9 , "z":1.0}'],
  ['{"a":"\\"x\\":1","x":null}', '{"a":"\\"x\\":1","x":9}'],
  ['{"a":{"x":1}}', '{"x":9,"a":{"x":1}}'],
  ['{"a":1e400,"b":12345678901234567890,"x":"y\\\\"}', '{"a":1e400,"b":12345678901234567890,"x":9}'],
  ['{"\\u0078":1}', '{"\\u0078":9}'],
];

for (const [text, expected] of ROWS) {
  Deno.test(`spliceMember() makes ${text} ${expected}`, () => assert.equal(splice(text, "x", "9"), expected));
}

Deno.test("spliceMember() sets the member of any object, and leaves all other bytes", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.string(),
      fc.jsonValue(),
      (object, name, value) => {
        const text = JSON.stringify(object, null, 1);
        const spliced = splice(text, name, JSON.stringify(value));
        const parsed = JSON.parse(spliced);
        assert.deepEqual(
          parsed,
          JSON.parse(JSON.stringify(Object.fromEntries([...Object.entries(object), [name, value]]))),
        );
        if (!Object.hasOwn(object, name)) assert.equal(spliced.length > text.length, true);
      },
    ),
  );
});

Deno.test("spliceMember() sets the member of an inner object, and leaves all other bytes", () => {
  const set = (text: string) =>
    new TextDecoder().decode(spliceMember(encode(text), ["o", "include_usage"], "true"));
  assert.equal(
    set('{"o":{"a":1.0,"include_usage":false}, "b":2}'),
    '{"o":{"a":1.0,"include_usage":true}, "b":2}',
  );
  assert.equal(set('{"o": {}}'), '{"o": {"include_usage":true}}');
});

Deno.test("findAmbiguity() finds a name that an object has twice, however it is written, or in another case", () => {
  const find = (text: string) => findAmbiguity(encode(text))?.split(",")[0];
  assert.equal(find('{"model":"a","x":{"model":1},"messages":["model"],"X":1}'), '"X" twice');
  assert.equal(find('{"model":"a","x":{"model":1,"Model":1},"messages":["model"]}'), undefined);
  assert.equal(find('{"model":"a", "\\u006dodel":"b"}'), '"model" twice');
  assert.equal(find('{"a":{"b":1,"b":2}}'), undefined);
  assert.equal(find('{"stream_options":{"b":1,"b":2}}'), '"b" twice');
  assert.equal(find('{"stream_options":{"stream_options":{"b":1,"b":2}}}'), undefined, "nothing reads that");
  assert.equal(find('{"Stream":true}'), '"Stream"');
  assert.equal(find('{"stream_options":{"Include_Usage":false}}'), '"Include_Usage"');
  assert.equal(find('{"max_to\u212aens":1}'), '"max_to\u212aens"', "the Kelvin sign is a K");
  assert.equal(find('{"\u017ftream":1}'), '"\u017ftream"', "the long s is an S");
});
