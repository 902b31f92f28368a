import assert from "node:assert/strict";
import { readAsked } from "./asked.ts";

Deno.test("readAsked() looks at no number of a request: the lifetime of a cache is known beside 300,000 token ids", () => {
  const body = {
    system: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral", ttl: "1h" } }],
    messages: [{ role: "user", content: Array.from({ length: 300_000 }, (_, id) => id) }],
  };
  assert.equal(readAsked([body]).cacheLifetime, "1h");
});
