import assert from "node:assert/strict";
import { LineSplitter } from "./line_splitter.ts";

const LINES = [
  '{"type":"user","text":"größer"}',
  '{"usage":{"a":1},"text":"größer 𝄞"}',
  "",
  '{"type":"system"}',
  'x "usage" y',
  "y".repeat(90) + '"usage"',
  "z".repeat(300),
  '{"usage":2}\r',
];
const BYTES = new TextEncoder().encode(LINES.join("\n") + '\n{"usage":"open"}');

function split(
  pieces: Iterable<Uint8Array>,
  options: { markers?: readonly string[]; maxLineBytes?: number },
) {
  const lines: string[] = [];
  let longLines = 0;
  const splitter = new LineSplitter({
    maxLineBytes: 1_000,
    ...options,
    onLine: (line) => void lines.push(line),
    onLongLine: () => void longLines++,
  });
  for (const piece of pieces) {
    splitter.push(piece);
    piece.fill(0); // its memory is used again
  }
  return { lines, longLines, openBytes: splitter.openBytes };
}

function* piecesOf(size: number) {
  for (let at = 0; at < BYTES.length; at += size) yield BYTES.slice(at, at + size);
}

const SIZES = [1, 2, 3, 5, 7, 16, 31, 64, 100, 128, 200, 333, BYTES.length];

Deno.test("lines are split at any byte, and only those with a marker are decoded", () => {
  for (const size of SIZES) {
    assert.deepEqual(split(piecesOf(size), { markers: ['"usage"'] }), {
      lines: [LINES[1], LINES[4], LINES[5], '{"usage":2}'],
      longLines: 0,
      openBytes: 16,
    }, `pieces of ${size}`);
    assert.deepEqual(
      split(piecesOf(size), { markers: ['"nothing"', "größ".slice(0, 2), '"system"'] }).lines,
      [
        LINES[0],
        LINES[1],
        LINES[3],
      ],
    );
    assert.deepEqual(
      split(piecesOf(size), {}).lines,
      LINES.filter((line) => line !== "").map((line) => line.replace("\r", "")),
    );
  }
});

Deno.test("a line above the limit is counted if it has a marker, wherever the pieces end", () => {
  for (const size of SIZES) {
    const { lines, longLines, openBytes } = split(piecesOf(size), { markers: ['"usage"'], maxLineBytes: 80 });
    assert.deepEqual(
      [lines, longLines, openBytes],
      [[LINES[1], LINES[4], '{"usage":2}'], 1, 16],
      `pieces of ${size}`,
    );
    assert.equal(split(piecesOf(size), { maxLineBytes: 80 }).longLines, 2);
  }
});

Deno.test("a line of 200 MB is passed over in little memory", () => {
  let longLines = 0;
  const splitter = new LineSplitter({
    markers: ['"usage"'],
    maxLineBytes: 1_000_000,
    onLine() {},
    onLongLine: () => void longLines++,
  });
  const piece = new TextEncoder().encode('{"usage":1}'.padEnd(1_000_000, " "));
  const before = Deno.memoryUsage().rss;
  for (let i = 0; i < 200; i++) splitter.push(piece);
  assert.equal(splitter.openBytes, 200_000_000);
  splitter.push(new Uint8Array([10]));
  assert.deepEqual([longLines, splitter.openBytes], [1, 0]);
  assert.ok(Deno.memoryUsage().rss - before < 60_000_000);
});
