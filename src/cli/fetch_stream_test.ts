import assert from "node:assert/strict";
import { readEvents } from "./fetch_stream.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (chunks: Uint8Array[]) =>
  Array.fromAsync(readEvents(ReadableStream.from(chunks) as ReadableStream<Uint8Array>));

const TEXT = 'event: text\ndata: {"text":"日本"}\n\n' +
  ": a comment\nid: 7\nretry: 10\n\n" +
  "data:first\r\ndata: second\r\n\r\n" +
  "event: result\rdata: x: y\r\r" +
  "event: unfinished\ndata: never";
const EVENTS = [
  { event: "text", data: '{"text":"日本"}' },
  { event: "message", data: "first\nsecond" },
  { event: "result", data: "x: y" },
];

Deno.test("readEvents() reads events with every kind of line end, and no unfinished one", async () => {
  assert.deepEqual(await read([bytes(TEXT)]), EVENTS);
});

Deno.test("readEvents() does not care how the bytes are cut", async () => {
  const all = bytes(TEXT);
  for (const size of [1, 2, 3, 7]) {
    const chunks = Array.from(
      { length: Math.ceil(all.length / size) },
      (_, i) => all.slice(i * size, (i + 1) * size),
    );
    assert.deepEqual(await read(chunks), EVENTS, String(size));
  }
});

Deno.test("readEvents() reads an event that ends with the stream", async () => {
  assert.deepEqual(await read([bytes("data: a\r\r")]), [{ event: "message", data: "a" }]);
  assert.deepEqual(await read([]), []);
});
