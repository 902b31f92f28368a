import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { splitEvents, splitList, type Splitter } from "./events.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Splits a text that arrives in chunks of these sizes, again and again. */
function split(splitter: Splitter, text: string, sizes: readonly number[]) {
  const bytes = encode(text);
  const pieces: { text: string; data: string | undefined }[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    // Copied: the chunks of a connection share no memory.
    for (const piece of splitter.push(bytes.slice(at, at + size))) {
      pieces.push({ text: decode(piece.bytes), data: piece.data });
    }
    at += size;
  }
  return { pieces, rest: decode(splitter.rest()) };
}

const anySizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const anyBreak = fc.constantFrom("\n", "\r\n", "\r");

Deno.test("splitEvents() finds each event and its data, wherever the stream is cut, and loses no byte", () => {
  const line = fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => text.replace(/[\r\n]/g, "."));
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), anyBreak, anySizes, (lines, end, sizes) => {
      const text = lines.map((data) => `event: a${end}data: ${data}${end}${end}`).join("");
      const { pieces, rest } = split(splitEvents(), text, sizes);
      assert.equal(pieces.map((piece) => piece.text).join("") + rest, text);
      assert.deepEqual(pieces.flatMap(({ data }) => data === undefined ? [] : [data]), lines);
    }),
  );
});

Deno.test("splitEvents() passes comments, joins lines of data, and keeps an event that is cut off", () => {
  const text = ": ping\n\ndata: {\ndata: }\n\ndata: [DO";
  const { pieces, rest } = split(splitEvents(), text, [1]);
  assert.deepEqual(pieces.map(({ data }) => data), [undefined, "{\n}"]);
  assert.equal(rest, "data: [DO");
});

Deno.test("splitList() finds each object of a list, wherever it is cut, and loses no byte", () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }),
      anySizes,
      (list, sizes) => {
        const text = `[${list.map((object) => JSON.stringify(object, null, 1)).join("\n,\r\n")}]\n`;
        const { pieces, rest } = split(splitList(), text, sizes);
        assert.equal(pieces.map((piece) => piece.text).join("") + rest, text);
        assert.deepEqual(pieces.map(({ data }) => JSON.parse(data!)), JSON.parse(JSON.stringify(list)));
      },
    ),
  );
});

Deno.test("a large event that comes in many chunks is copied a few times only", () => {
  const bytes = encode(`data: ${"x".repeat(1024 * 1024)}\n\n`);
  for (const splitter of [splitEvents(), splitList()]) {
    let copied = 0;
    const { set } = Uint8Array.prototype;
    Uint8Array.prototype.set = function (source, at) {
      copied += source.length;
      set.call(this, source, at);
    };
    try {
      for (let at = 0; at < bytes.length; at += 1024) splitter.push(bytes.slice(at, at + 1024));
    } finally {
      Uint8Array.prototype.set = set;
    }
    assert.ok(copied < 5 * bytes.length, `${copied} bytes`);
  }
});
