import assert from "node:assert/strict";
import { estimateInputBytes } from "./input_size.ts";

const MEGABYTE = "A".repeat(1_000_000);
const WORDS = "words ".repeat(166_667).slice(0, 1_000_000);

/** Media in the form of each wire, and the bytes that a megabyte of them counts as. */
const ROWS: [name: string, part: Record<string, unknown>, size: number][] = [
  [
    "an image of Anthropic's",
    { source: { type: "base64", media_type: "image/png", data: MEGABYTE } },
    20_000,
  ],
  ["an image of chat's", { image_url: { url: `data:image/png;base64,${MEGABYTE}` } }, 20_000],
  ["an image of Responses'", { image_url: `data:image/jpeg;base64,${MEGABYTE}` }, 20_000],
  ["an image of Gemini's", { inlineData: { mimeType: "image/png", data: MEGABYTE } }, 20_000],
  ["audio of chat's", { input_audio: { data: MEGABYTE, format: "mp3" } }, 10_000],
  ["a video of Gemini's", { inline_data: { mime_type: "video/mp4", data: MEGABYTE } }, 10_000],
  ["a PDF, which may be all text", { source: { media_type: "application/pdf", data: MEGABYTE } }, 1_000_000],
  ["a text", { text: MEGABYTE }, 1_000_000],
  ["a text with a format", { text: WORDS, format: "markdown", mime_type: "audio/wav" }, 1_000_000],
  ["a text that begins like an image", { text: `data:image/png;base64,${WORDS}` }, 1_000_000],
  ["a text for audio", { data: WORDS, format: "mp3" }, 1_000_000],
  ["the arguments of a tool", { input: { media_type: "image/png", data: MEGABYTE } }, 1_000_000],
];

for (const [name, part, size] of ROWS) {
  Deno.test(`a megabyte counts as ${size} bytes of input: ${name}`, () => {
    const body = { messages: [{ role: "user", content: [part] }] };
    const bytes = JSON.stringify(body).length;
    const around = bytes - 1_000_000;
    const counted = estimateInputBytes(body, bytes);
    assert.ok(counted >= size && counted <= size + around, String(counted));
  });
}

Deno.test("a small request counts as its bytes, and what is nested deeply as text", () => {
  assert.equal(estimateInputBytes({ image_url: "data:image/png;base64,AAAA" }, 26), 26);
  const depth = 100_000;
  const deep = JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  assert.equal(estimateInputBytes(deep, 200_006), 200_006);
});
