import assert from "node:assert/strict";
import { openHttpClient } from "./harness/http_client.ts";
import { openTestPurser } from "./harness/test_purser.ts";
import { startPlainProvider } from "./gateway/plain_provider.ts";

Deno.test("an agent is answered as it is stored, under the ETag that it has from then on", async () => {
  await using purser = await openTestPurser();
  const secret = "sk-1f6e2d90c4b8a7";
  purser.core.secrets.add([secret]);
  const { raw } = openHttpClient(purser);
  const body = { model: "demo:echo", tags: { z: "1", a: "2" }, system_prompt: `Say ${secret}` };
  const put = await raw("PUT", "/agents/a1", { body });
  const got = await raw("GET", "/agents/a1", {});
  assert.equal(put.headers.get("etag"), got.headers.get("etag"));
  const stored = await got.text();
  assert.equal(await put.text(), stored);
  assert.ok(!stored.includes(secret));
});

Deno.test("a body that isn't UTF-8 is refused: two ids in it would become one", async () => {
  await using fake = startPlainProvider(() => Response.json({}));
  await using purser = await openTestPurser({ fake });
  const { raw } = openHttpClient(purser);
  const headers = { "content-type": "application/json" };
  const { body: { key } } = await purser.api("POST", "/keys", { name: "all", scopes: ["admin", "call"] });
  const rawBody = Uint8Array.from([...new TextEncoder().encode('{"model":"'), 0xff, 0x22, 0x7d]);
  for (const path of ["/costs/events", "/openai/v1/chat/completions"]) {
    const response = await raw("POST", path, { key, rawBody, headers });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /isn't UTF-8/);
  }
});
