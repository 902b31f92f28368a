import assert from "node:assert/strict";
import { sealedText } from "./harness/any_snapshot.ts";
import {
  bytesOf,
  changed,
  FULL,
  FULL_TEXT,
  OBJECTS,
  placeOf,
  RESTORE,
  SCALARS,
  testRefusals,
  textWith,
  textWithMember,
} from "./harness/refusals.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser } from "./harness/test_purser.ts";

Deno.test("the documents from which the refused ones are derived are valid", async () => {
  await using purser = await openTestPurser();
  for (const body of [FULL, FULL_TEXT, `\ufeff ${JSON.stringify(FULL, null, 2)}\n`]) {
    assert.equal((await purser.api("POST", `${RESTORE}?dry_run=true`, body)).status, 200);
  }
  for (const path of OBJECTS) {
    const text = textWithMember(FULL, path, '"new":"[{\\"\\\\"');
    const { status, body } = await purser.api("POST", RESTORE, text);
    assert.equal(status, 200, JSON.stringify(body));
  }
});

testRefusals("a truncated file is refused, at any length", async (refuse) => {
  const bytes = bytesOf(sealedText(changed(FULL, "state.messages[0].content", "grüße 😀")));
  const step = Math.ceil(bytes.length / 100);
  for (let end = 0; end < bytes.length; end += step) await refuse(bytes.subarray(0, end));
  for (let end = bytes.length - 5; end < bytes.length; end++) await refuse(bytes.subarray(0, end));
  const inEmoji = bytes.findIndex((byte) => byte === 0xf0) + 2;
  await refuse(bytes.subarray(0, inEmoji), { detail: /not UTF-8/ });
  await refuse("{", { detail: /it is truncated/, path: "" });
  await refuse(FULL_TEXT.slice(0, FULL_TEXT.indexOf('"msg_3"')), { path: "state.messages[2]" });
});

testRefusals("anything but one JSON object is refused", async (refuse) => {
  const text = JSON.stringify(snapshotOf());
  const others = [
    "",
    " \n\t ",
    "\ufeff",
    "\ufeff\ufeff" + text,
    "\u00a0" + text,
    "null",
    "true",
    "1",
    '"text"',
    "[]",
    `[${text}]`,
    "nonsense",
    "<xml/>",
    "\0",
    "{}",
    text + text,
    text + "\n" + text,
    text + "x",
    text + "}",
    text + ",",
    text + "\0",
    text + "\ufeff",
    "// a comment\n" + text,
    text.replace("{", "{ /* a comment */ "),
    text.replace('"state":{', '"state":{ // a comment\n'),
    text.replace('"role"', '/* a comment */ "role"'),
    text.slice(0, -1) + ",}",
    text.replace('"hi"}]', '"hi"}, ]'),
    text.replace('"hi"}', '"hi",}'),
    text.replace('"tags":{"ticket":"4711"', '"tags":{"ticket":"4711",'),
    text.replace('"tags":{', '"tags":{,'),
    text.replaceAll('"', "'"),
    text.replace('"production"', "'production'"),
    text.replace('"tags"', "tags"),
    text.replace('"hi"', '"h\ni"'),
    text.replace('"hi"', '"h\\xi"'),
    text.replace('"hi"', '"\\u12"'),
    text.replace('"schema_version":1', '"schema_version":01'),
    text.replace('"schema_version":1', '"schema_version":+1'),
    text.replace('"schema_version":1', '"schema_version":0x1'),
    text.replace('"schema_version":1', '"schema_version":1.'),
    text.replace('"schema_version":1', '"schema_version":True'),
    text.replace('"schema_version":1', '"schema_version"=1'),
    text.replace('"schema_version":1', '"schema_version"::1'),
    text.replace('"schema_version":1', '"schema_version":1 1'),
    text.replace('"schema_version":1', '"schema_version":undefined'),
  ];
  for (const other of others) {
    assert.ok(other === "" || !others.includes(text));
    await refuse(other);
  }
});

testRefusals("bytes that are not UTF-8 are refused", async (refuse) => {
  const text = JSON.stringify(snapshotOf());
  const [before, after] = text.split("hello").map(bytesOf) as [Uint8Array, Uint8Array];
  const detail = /^Cannot read the snapshot: it is not UTF-8$/;
  const wrong = {
    "a surrogate (CESU-8)": [0xed, 0xa0, 0x80],
    "a pair of surrogates (CESU-8)": [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
    "an overlong zero": [0xc0, 0x80],
    "an overlong slash": [0xe0, 0x80, 0xaf],
    "an invalid byte": [0xff],
    "a continuation alone": [0x80],
    "a beginning alone": [0xe2, 0x82],
    "beyond Unicode": [0xf4, 0x90, 0x80, 0x80],
    "Latin-1": [0xe4],
  };
  for (const bytes of Object.values(wrong)) {
    await refuse(Uint8Array.from([...before, ...bytes, ...after]), { detail, path: "" });
  }
  await refuse(Uint8Array.from([...bytesOf(text), 0xf0]), { detail });
  const units = Uint16Array.from(text, (unit) => unit.charCodeAt(0));
  const littleEndian = new Uint8Array(units.buffer);
  const bigEndian = littleEndian.map((_, index) => littleEndian[index ^ 1]!);
  for (const bytes of [littleEndian, bigEndian]) await refuse(bytes);
  await refuse(Uint8Array.from([0xff, 0xfe, ...littleEndian]), { detail });
  await refuse(Uint8Array.from([0xfe, 0xff, ...bigEndian]), { detail });
});

testRefusals("a duplicate key is refused at every level, in any escaping", async (refuse) => {
  for (const path of OBJECTS) {
    for (
      const twins of [
        '"twin":1,"twin":1',
        '"twin":1,"other":{"twin":1},"twin":2',
        '"twin":"x","tw\\u0069n":"y"',
        '"\\u0074win":[],"\\u0074win":[]',
        '"":1,"":2',
        '"\\/":1,"/":2',
      ]
    ) {
      await refuse(textWithMember(FULL, path, twins), { path: placeOf(path), detail: /duplicate/ });
    }
  }
  const text = JSON.stringify(FULL);
  for (
    const key of ["schema_version", "state", "messages", "status", "tags", "events", "agent", "seq", "role"]
  ) {
    const value = /^(\{|\[)/.test(text.slice(text.indexOf(`"${key}":`) + key.length + 3)) ? "[]" : "1";
    await refuse(text.replace(`"${key}":`, `"${key}":${value},"${key}":`));
  }
});

testRefusals("a key __proto__ is refused at every level, in any escaping", async (refuse) => {
  for (const path of OBJECTS) {
    for (const member of ['"__proto__":1', '"__proto__":{"role":"user"}', '"\\u005f_proto_\\u005F":null']) {
      const isWalked = path === "" || path === "state";
      await refuse(textWithMember(FULL, path, member), {
        path: isWalked ? path : `${path}.__proto__`,
        detail: /not allowed/,
      });
    }
  }
  // As a value it is an ordinary string.
  await using purser = await openTestPurser();
  const good = changed(FULL, "state.messages[0].content", "__proto__");
  assert.equal((await purser.api("POST", RESTORE, good)).status, 200);
});

testRefusals("a nesting of 10,000 levels is refused without being parsed", async (refuse) => {
  const deep = [
    "[".repeat(10_000) + "]".repeat(10_000),
    '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
    '[{"a":'.repeat(5_000) + "1" + "}]".repeat(5_000),
    "[".repeat(10_000),
  ];
  const justTooDeep = "[".repeat(511) + "]".repeat(511);
  const walked = ["state", "state.messages", "events"];
  for (const path of [...SCALARS, ...walked, "extra", "tags", "agent", "schema_version"]) {
    // A value that is walked may be as deep again below.
    for (const json of walked.includes(path) ? deep : [...deep, justTooDeep]) {
      const { details } = await refuse(textWith(FULL, path, json), {
        detail: /nested deeper than 510 levels/,
      });
      const [{ path: reported }] = details.issues;
      assert.ok(reported.startsWith(placeOf(path)), `${reported} is not ${placeOf(path)}`);
    }
  }
  for (const json of deep) await refuse(json);
});

testRefusals("an invalid or too large number is refused everywhere", async (refuse) => {
  for (const path of SCALARS) {
    for (
      const json of ["NaN", "Infinity", "-Infinity", "nan", "-", ".5", "1e", "--1", "1_000", "0b1", "1n"]
    ) {
      await refuse(textWith(FULL, path, json), { path: placeOf(path) });
    }
    for (const json of ["1e999", "-1e999", "1" + "0".repeat(309), "1E+400"]) {
      await refuse(textWith(FULL, path, json), { path, detail: /too large/ });
    }
  }
});

testRefusals("half of a surrogate pair is refused in values and keys", async (refuse) => {
  for (const path of SCALARS) {
    for (const json of ['"\\ud800"', '"\\udc00\\ud800"', '"x\\uDBFFy"', '"\\ud83d\\ude00\\ud83d"']) {
      await refuse(textWith(FULL, path, json), { path, detail: /lone surrogate/ });
    }
  }
  for (const path of OBJECTS) {
    for (const member of ['"\\ud800":"x"', '"a\\udfff":"x"']) {
      await refuse(textWithMember(FULL, path, member), { detail: /lone surrogate/ });
    }
  }
});

Deno.test("an escaped surrogate pair is an ordinary character", async () => {
  await using purser = await openTestPurser();
  const text = textWith(FULL, "state.messages[0].content", '"\\ud83d\\ude00"');
  assert.equal((await purser.api("POST", RESTORE, text)).status, 200);
  assert.equal((await purser.messages("ses"))[0]!.content, "😀");
});
