import assert from "node:assert/strict";
import { redactSecrets } from "./error_text.ts";

Deno.test("redactSecrets() takes keys of every known form out of an error", () => {
  for (
    const secret of [
      "Bearer sk-SECRET\nBAD",
      "bearer abc def",
      "sk-proj-abcdef123456",
      "sk-ant-api03-abcdefgh",
      "AIzaSyA1234567890abc",
      "https://host/v1?key=abc123&x=1",
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    ]
  ) {
    const redacted = redactSecrets(`Invalid header value: "${secret}"`);
    assert.match(redacted, /\[redacted\]/, secret);
    assert.doesNotMatch(redacted, /SECRET|BAD|def123|api03|A12345|abc123|hbGci|sdWIi/, secret);
  }
});

Deno.test("redactSecrets() leaves other texts as they are", () => {
  const text = "The model gpt-4o-mini does not exist or the key task-123 was not found (status 404)";
  assert.equal(redactSecrets(text), text);
});
