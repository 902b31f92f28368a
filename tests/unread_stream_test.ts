import assert from "node:assert/strict";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { openTestPurser } from "./harness/test_purser.ts";

const MEGABYTE = "x".repeat(1024 * 1024);

/** A model that streams 24 MB. */
const talker: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "demo",
  modelId: "talker",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("only streams")),
  doStream: () => {
    const parts: LanguageModelV4StreamPart[] = [
      { type: "text-start", id: "1" },
      ...Array.from({ length: 24 }, () => ({ type: "text-delta" as const, id: "1", delta: MEGABYTE })),
      { type: "text-end", id: "1" },
      {
        type: "finish",
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      },
    ];
    return Promise.resolve({ stream: ReadableStream.from(parts) });
  },
};

Deno.test("a client that does not read its run's stream is disconnected at 16 MB, and the run continues to its end", async () => {
  await using purser = await openTestPurser({ models: { "demo:talker": talker } });
  await purser.api("PUT", "/agents/a", { model: "demo:talker" });
  const ended = new Promise<void>((resolve) =>
    purser.core.bus.subscribe(({ type }) => type === "run.completed" && resolve())
  );
  const response = await purser.app.request("/agents/a/runs", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ input: "Talk", session_id: "s1" }),
  });
  await ended;
  const reader = response.body!.getReader();
  let size = 0;
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    text = new TextDecoder().decode(value.slice(-2_000));
  }
  assert.ok(size < 20 * 1024 * 1024, `${size} bytes were buffered for it`);
  assert.doesNotMatch(text, /event: result/);
  assert.equal((await purser.api("GET", "/sessions/s1")).body.status, "completed");
});
