import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { createSecrets, SCRUBBED, scrubbedLog } from "./mod.ts";

const KEY = 'q7"k+/\\é=9~x';

Deno.test("scrub() finds a value in every form, and leaves every other text as it is", () => {
  const secrets = createSecrets([KEY]);
  const json = JSON.stringify(KEY).slice(1, -1);
  const bytes = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  const forms = [
    KEY,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(KEY),
    encodeURIComponent(KEY).toLowerCase(),
  ];
  for (const form of forms) {
    assert.equal(secrets.scrub(`a ${form} b ${form}`), `a ${SCRUBBED} b ${SCRUBBED}`, form);
  }
  for (const login of ["", "u:", "us:", "user:"]) {
    assert.equal(
      secrets.scrub(`Basic ${bytes(login + KEY + " and more")}, b`),
      `Basic ${SCRUBBED}, b`,
      login,
    );
  }
  for (const text of ["", "q7", KEY.slice(0, -1), KEY.slice(1), "nothing here"]) {
    assert.equal(secrets.scrub(text), text);
  }
});

Deno.test("scrub() removes any values from any text, and nothing else", () => {
  const value = fc.string({ minLength: 8, maxLength: 40, unit: "binary-ascii" }).filter((text) =>
    text.trim().length >= 8
  );
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), fc.array(fc.string()), (values, texts) => {
      const secrets = createSecrets(values);
      const text = texts.flatMap((part, index) => [part, values[index % values.length]!]).join("");
      const scrubbed = secrets.scrub(text);
      for (const value of values) assert.ok(!scrubbed.replaceAll(SCRUBBED, "\0").includes(value));
      const plain = texts.join(" ");
      if (!values.some((value) => plain.includes(value.trim()))) {
        const others = createSecrets(values).scrub(plain);
        assert.ok(
          others === plain || values.some((value) => value.split(/\s+/).some((word) => plain.includes(word))),
        );
      }
    }),
  );
});

Deno.test("startText() scrubs a text of any parts as it scrubs the whole", () => {
  const secrets = createSecrets([KEY, "MARKED-secret-value-1", "MARKED-secret-value-12"]);
  const pieces = fc.constantFrom(KEY, "MARKED-secret-value-1", "MARKED-sec", "value", " ", "q7", "é", "\n");
  fc.assert(
    fc.property(fc.array(pieces), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (parts, sizes) => {
      const text = parts.join("") + ".";
      const scrub = secrets.startText();
      let shown = "";
      for (let at = 0; at < text.length;) {
        const size = sizes.next().value!;
        shown += scrub.push(text.slice(at, at += size));
      }
      assert.equal(shown + scrub.end(), secrets.scrub(text));
    }),
  );
});

/** Secrets with what encoders escape, and one that is the beginning of another. */
const SPECIAL = "sk-live/ABC+def/GHIJKL==0123&<x>'\"`é";
const LONGER = SPECIAL + "/and-more-of-it";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const base64Of = (text: string) => btoa(String.fromCharCode(...bytesOf(text)));
const escape = (text: string, units: RegExp, isUpper = false) =>
  text.replace(units, (unit) => {
    const code = unit.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${isUpper ? code.toUpperCase() : code}`;
  });

/** Returns a secret as encoders write it, each of them written anew here. */
function encodingsOf(secret: string): Record<string, string> {
  const json = JSON.stringify(secret).slice(1, -1);
  const hex = Array.from(bytesOf(secret), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  const php = escape(json, /[^ -~]/g).replaceAll("/", "\\/");
  return {
    php,
    "php within json": JSON.stringify(php).slice(1, -1),
    go: escape(json, /[<>&]/g),
    python: escape(json, /[^ -~]/g),
    ".net": escape(json.replaceAll('\\"', "\\u0022"), /[<>&'+`]|[^ -~]/g, true),
    "every character in json": escape(secret, /[^]/g),
    "every character in json, upper case": escape(secret, /[^]/g, true),
    "url twice": encodeURIComponent(encodeURIComponent(secret)),
    "form twice": encodeURIComponent(new URLSearchParams([["", secret]]).toString().slice(1)),
    html: secret.replace(/[&<>"']/g, (one) => entities[one as "&"]),
    hex,
    "hex, upper case": hex.toUpperCase(),
    "base64": base64Of(secret),
    "base64 after one byte": base64Of("x" + secret),
    "base64 after two bytes": base64Of("xy" + secret),
  };
}

Deno.test("scrub() finds a value as encoders of JSON, URLs, HTML and bytes write it", () => {
  const secrets = createSecrets([SPECIAL, LONGER]);
  for (const secret of [SPECIAL, LONGER]) {
    for (const [name, form] of Object.entries(encodingsOf(secret))) {
      assert.equal(secrets.scrub(`a ${form} b`), `a ${SCRUBBED} b`, name);
    }
  }
});

Deno.test("startText() scrubs every form, however it is split, and shows no rest of the longer of two values", () => {
  const secrets = createSecrets([SPECIAL, LONGER]);
  for (const secret of [SPECIAL, LONGER]) {
    for (const [name, form] of Object.entries({ ...encodingsOf(secret), plain: secret })) {
      const text = `a ${form} b`;
      for (const size of [1, 2, 3, 5, 7, 8, 11, 1000]) {
        const scrub = secrets.startText();
        let shown = "";
        for (let at = 0; at < text.length; at += size) shown += scrub.push(text.slice(at, at + size));
        shown += scrub.end();
        // What encodes the bytes before a secret, and up to four bits of it, is shown if it arrived before.
        const before = /after (one|two)/.test(name) ? /^a [\w+/]{0,3}\[/ : /^a \[/;
        assert.match(shown, before, `${name}, ${size} at a time`);
        assert.equal(shown.slice(shown.indexOf("[")), `${SCRUBBED} b`, `${name}, ${size} at a time`);
      }
      const cut = secrets.startText();
      assert.equal(cut.push(`a ${form}`) + cut.end(), `a ${SCRUBBED}`, `${name}, at the end`);
    }
  }
});

Deno.test("startText() keeps nothing back that begins no value, and hides one that was cut off", () => {
  const scrub = createSecrets(["MARKED-secret-value-1"]).startText();
  assert.equal(scrub.push("Hello, "), "Hello, ");
  assert.equal(scrub.push("it is MARK"), "it is ");
  assert.equal(scrub.push("s"), "MARKs");
  assert.equal(scrub.push(" MARKED-secret"), " ");
  assert.equal(scrub.end(), SCRUBBED);
});

Deno.test("scrubStored() changes only the literals of JSON, and leaves names that a word happens to be in", () => {
  const secrets = createSecrets(["1700000000", "researchers", "MARKED-secret-value-1"]);
  assert.equal(
    secrets.scrubStored('{"at":1700000000,"text":"1700000000"}'),
    `{"at":1700000000,"text":"${SCRUBBED}"}`,
  );
  assert.equal(secrets.scrubStored("{1700000000"), `{${SCRUBBED}`);
  assert.equal(secrets.scrubStored("researchers-2"), "researchers-2");
  assert.equal(
    secrets.scrubStored('{"agent":"researchers","text":"my researchers"}'),
    `{"agent":"researchers","text":"my ${SCRUBBED}"}`,
  );
  assert.equal(secrets.scrubStored("ses_MARKED-secret-value-1"), `ses_${SCRUBBED}`);
  assert.equal(secrets.scrubStored(1700000000n), 1700000000n);
});

Deno.test("add() takes no value that is short, or that is a name which is shown anyway", () => {
  const secrets = createSecrets();
  secrets.add(["short", "lm-studio", "assistant", undefined], ["lm-studio", "assistant"]);
  const text = "short lm-studio assistant";
  assert.equal(secrets.scrub(text), text);
});

Deno.test("scrubError() scrubs an error with its causes and fields in place, and keeps its class", () => {
  const secrets = createSecrets([KEY]);
  const cause = Object.assign(new TypeError(`inner ${KEY}`), { responseHeaders: { echo: [KEY] } });
  const error = new AggregateError([new Error(KEY)], `outer ${KEY}`, { cause });
  assert.equal(secrets.scrubError(error), error);
  assert.ok(error instanceof AggregateError && error.cause instanceof TypeError);
  const shown = [
    error.message,
    error.stack,
    cause.message,
    cause.stack,
    JSON.stringify(cause),
    error.errors[0].message,
  ];
  for (const text of shown) {
    assert.ok(!String(text).includes(KEY) && String(text).includes(SCRUBBED), String(text));
  }
  assert.equal(secrets.scrubError(Object.freeze(new Error("frozen"))).message, "frozen");
});

Deno.test("scrubbedLog() has no value in a message, in a field's name or in a nested field", () => {
  const lines: unknown[] = [];
  const write = (message: string, fields?: object) => void lines.push(message, fields);
  const log = scrubbedLog({ debug: write, info: write, warn: write, error: write }, createSecrets([KEY]));
  log.warn(`with ${KEY}`, { [KEY]: 1, list: [{ text: KEY }], at: 5n });
  assert.deepEqual(lines, [`with ${SCRUBBED}`, { [SCRUBBED]: 1, list: [{ text: SCRUBBED }], at: 5n }]);
});
