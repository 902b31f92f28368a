import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { canonicalize, toCanonicalText } from "./canonical_json.ts";

Deno.test("canonicalize() sorts keys by UTF-16 units, at every depth, also keys that look like indices", () => {
  assert.equal(
    toCanonicalText({
      "10": 1,
      "2": 2,
      b: [{ z: 1, a: 2 }],
      a: "x",
      "\u20ac": 1,
      "\ud83d\ude00": 2,
      "\ufb33": 3,
    }),
    '{"10":1,"2":2,"a":"x","b":[{"a":2,"z":1}],"€":1,"😀":2,"\ufb33":3}',
  );
});

Deno.test("canonicalize() writes the numbers and strings of RFC 8785's examples as it does", () => {
  const numbers = [
    333333333.33333329,
    1e30,
    4.50,
    2e-3,
    0.000000000000000000000000001,
    -0,
    1e21,
    123456789012345680000,
  ];
  assert.equal(
    toCanonicalText({
      numbers,
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    }),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,123456789012345680000],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

Deno.test("canonicalize() returns the same text for the same value, whatever the order of its keys", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    // V8 may take another key for one that ends with a backslash: see `parseSlowly`.
    fc.pre(!/"__proto__"|\\\\":/.test(JSON.stringify(value)));
    const text = toCanonicalText(value);
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
    const reversed = JSON.parse(
      JSON.stringify(value),
      (_key, item) =>
        item !== null && typeof item === "object" && !Array.isArray(item)
          ? Object.fromEntries(Object.entries(item).reverse())
          : item,
    );
    assert.equal(toCanonicalText(reversed), text);
  }));
});

Deno.test("canonicalize() counts keys, those of a __proto__ too", () => {
  assert.equal(canonicalize(JSON.parse('{"a":{"b":[{"c":1}]},"__proto__":{"d":1}}'), () => {}).keyCount, 5);
});

Deno.test("canonicalize() reports the path of a value that is not portable", () => {
  const faults: string[] = [];
  canonicalize(
    JSON.parse('{"a":[1,"\\ud800"],"b":{"c":1e999},"d":{"__proto__":1},"\\udc00":1}'),
    (path, message) => void faults.push(`${path.join(".").toWellFormed()}: ${message}`),
  );
  assert.deepEqual(faults, [
    "a.1: has a lone surrogate, which is not valid Unicode",
    "b.c: is a number that is too large",
    "d.__proto__: is a key that is not allowed",
    "\ufffd: has a lone surrogate in its name",
  ]);
  assert.throws(() => toCanonicalText({ a: NaN }), /Cannot write canonical JSON: a is a number/);
});
