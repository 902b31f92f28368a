import assert from "node:assert/strict";
import { memoryTerminal } from "../../../../tests/harness/memory_terminal.ts";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";

const DOCUMENT = {
  schema_version: 1,
  agent_id: "helper",
  session_id: "s1",
  state: { messages: [{ role: "user", content: "a\u009b31m\u202e\u007f" }], status: "completed" },
  event_log_count: 1_234,
  tags: { "why\u001b[2J": "x", "": "" } as Record<string, string>,
  source_environment: "\u0000messages",
  exported_at: "2026-11-21T09:30:00Z",
  "\u0000messages": { "\u0000events": ["\u0000events"] },
};
delete DOCUMENT.tags[""];

Deno.test("state show prints the fields in order, with control characters escaped", async () => {
  await using books = await openTestBooks();
  const terminal = memoryTerminal({ stdin: JSON.stringify(DOCUMENT), columns: 80 });
  const { code, out } = await books.purser("state show -", { terminal });
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n").map((line) => line.replace(/ +/g, " ").trimEnd()), [
    "Field Value",
    "schema_version 1",
    "agent_id helper",
    "session_id s1",
    "status completed",
    "messages 1",
    "event_log_count 1,234",
    "source_environment \\x00messages",
    "exported_at 2026-11-21T09:30:00Z",
    "tags why\\x1b[2J=x",
    "",
  ]);
});

Deno.test("state show --format json is the same document, whatever stands in it, with controls escaped", async () => {
  await using books = await openTestBooks();
  const terminal = memoryTerminal({ stdin: JSON.stringify(DOCUMENT), columns: 80 });
  const { out } = await books.purser("state show - --format json", { terminal });
  assert.deepEqual(JSON.parse(out), DOCUMENT);
  assert.match(out, /^\{\n {2}"/);
  assert.doesNotMatch(out, /[\u007f-\u009f\u202e]/);
  assert.equal(books.openConnections, 0);
});
