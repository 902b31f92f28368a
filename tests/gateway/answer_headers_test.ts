import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { sendTo } from "./requests.ts";

const CHAT = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
const PATH = "/openai/v1/chat/completions";

Deno.test("an answer is stored as its provider says, and not at all where it says nothing", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { answer } = answerTo({ api: "openai-chat", model: CHAT.model }, { text: "Hello" });
  for (const stream of [false, true]) {
    for (const said of ["private, max-age=0", undefined]) {
      fake.enqueue({ answer, headers: said === undefined ? {} : { "cache-control": said } });
      const response = await sendTo(purser, { path: PATH, body: { ...CHAT, stream } });
      assert.match(await response.text(), /He/);
      assert.equal(response.headers.get("cache-control"), said ?? "no-store");
    }
  }
});
