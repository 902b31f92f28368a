import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import fc from "#dev/fast_check.ts";
import { fixedClock } from "../kernel/clock.ts";
import { redactCredentials } from "../redaction/mod.ts";
import { countingIds, createIds } from "../kernel/ids.ts";
import { newSecret, parseKeyText, writeKeyText } from "./key_text.ts";

const ids = createIds(fixedClock("2026-11-21T09:30:00.000Z"));
const ALPHABET = [..."0123456789abcdefghjkmnpqrstvwxyz"];

const Secret = fc.array(fc.constantFrom(...ALPHABET), { minLength: 32, maxLength: 32 }).map((all) =>
  all.join("")
);
const KeyText = Secret.map((secret) => writeKeyText(ids.next("key"), secret));

Deno.test("a key's text gives its id and its secret back, whatever they are", () => {
  fc.assert(
    fc.property(Secret, fc.constantFrom(ids.next("key"), countingIds().next("key")), (secret, keyId) => {
      assert.deepEqual(parseKeyText(writeKeyText(keyId, secret)), { is: "whole", keyId, secret });
    }),
  );
});

Deno.test("the form of a key is fixed: scanners and people's own programs know it by that", () => {
  const key = writeKeyText("key_01kaj4c0000000000000000000", "0123456789abcdefghjkmnpqrstvwxyz");
  // The checksum is the CRC-32 of all before it, in Crockford's base 32.
  assert.equal(key, "psr_01kaj4c0000000000000000000_0123456789abcdefghjkmnpqrstvwxyz3ckawr8");
  let rest = crc32(key.slice(0, -7));
  for (const character of [...key.slice(-7)].reverse()) {
    assert.equal(character, ALPHABET[rest % 32]);
    rest = Math.floor(rest / 32);
  }
  assert.match(key, /^psr_[0-9a-hjkmnp-tv-z]{26}_[0-9a-hjkmnp-tv-z]{39}$/);
});

Deno.test("a key with one other character, or two neighbours swapped, is damaged and never another key", () => {
  fc.assert(
    fc.property(KeyText, fc.nat(), fc.constantFrom(...ALPHABET, "_", "A", "-", "é"), (key, at, character) => {
      const index = 4 + at % (key.length - 4);
      const changed = key.slice(0, index) + character + key.slice(index + 1);
      if (changed !== key) assert.deepEqual(parseKeyText(changed), { is: "damaged" });
      const [a, b] = [key[index]!, key[index + 1] ?? ""];
      const swapped = key.slice(0, index) + b + a + key.slice(index + 2);
      if (swapped !== key) assert.deepEqual(parseKeyText(swapped), { is: "damaged" });
    }),
  );
});

Deno.test("a key that is cut off at either end, or is too long, is never accepted", () => {
  fc.assert(fc.property(KeyText, fc.nat(), fc.string({ minLength: 1, maxLength: 5 }), (key, at, more) => {
    const length = at % key.length;
    assert.notEqual(parseKeyText(key.slice(0, length)).is, "whole");
    assert.notEqual(parseKeyText(key.slice(key.length - length)).is, "whole");
    assert.equal(parseKeyText(key + more).is, "damaged");
    assert.equal(parseKeyText(more + key).is === "whole", false);
  }));
});

Deno.test("a text without the prefix of keys is distinguished from a damaged key", () => {
  for (const text of ["", "sk-ant-123", "PSR_01", "key_01kaj4c0000000000000000000", " psr_"]) {
    assert.deepEqual(parseKeyText(text), { is: "foreign" }, text);
  }
  for (const text of ["psr_", "psr__", "psr_01_02", "psr_\0"]) {
    assert.deepEqual(parseKeyText(text), { is: "damaged" }, text);
  }
});

Deno.test("secrets are of 160 random bits: each byte gives five of them, evenly", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
  const written = [...Array(8).keys()].map((part) =>
    newSecret(() => bytes.subarray(part * 32, part * 32 + 32))
  ).join("");
  for (const character of ALPHABET) assert.equal(written.split(character).length - 1, 8, character);
  assert.equal(new Set(Array.from({ length: 100 }, () => newSecret())).size, 100);
});

Deno.test("every key is found and replaced in a text, also one that is cut off", () => {
  const places = [
    (key: string) => key,
    (key: string) => `export PURSER_API_KEY=${key}`,
    (key: string) => `curl -H "Authorization: Bearer ${key}" https://example.com`,
    (key: string) => `{"key":"${key}"}`,
    (key: string) => `my key is ${key}, keep it.`,
    (key: string) => `https://example.com/?key=${key}&x=1`,
  ];
  fc.assert(
    fc.property(
      KeyText,
      fc.constantFrom(...places),
      fc.integer({ min: 40, max: 70 }),
      (key, place, length) => {
        for (const shown of [key, key.slice(0, length)]) {
          const found: string[] = [];
          const redacted = redactCredentials(place(shown), (kind) => found.push(kind));
          assert.equal(found.length, 1, redacted);
          assert.ok(!redacted.includes(key.slice(8, 30)), redacted);
        }
      },
    ),
  );
});
