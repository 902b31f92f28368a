import assert from "node:assert/strict";
import { toCanonicalText } from "../src/kernel/json/canonical_json.ts";
import { fullSnapshot } from "./harness/any_snapshot.ts";
import { changed, FULL, testRefusals, textWith, textWithMember } from "./harness/refusals.ts";
import { snapshotOf } from "./harness/snapshots.ts";

/** Reports of the faults of a document: all at once, each once, bounded in number and size. */

testRefusals("all faults are reported at once, each by its path", async (refuse) => {
  const document = fullSnapshot();
  document.agent_id = 5;
  document.session_id = "a b";
  document.state.status = "done";
  document.state.messages[0].content = 5;
  document.state.messages[3].content[1].toolCallId = "call_9";
  document.event_log_count = -1;
  document.tags.ticket = null;
  document.exported_at = "yesterday";
  document.events[0].at = "2026-02-30T00:00:00Z";
  document.agent = { model: "demo:echo", max_steps: 0 };
  const expected = [
    "agent.max_steps",
    "agent_id",
    "event_log_count",
    "events[0].at",
    "exported_at",
    "session_id",
    "state.messages[0].content",
    "state.messages[3].content[1].toolCallId",
    "state.status",
    "tags.ticket",
  ];
  for (const text of [JSON.stringify(document), toCanonicalText(document)]) {
    const problem = await refuse(text, { detail: /^Cannot read the snapshot: \S+: .* \(and 9 more\)$/ });
    const paths = problem.details.issues.map(({ path }: { path: string }) => path).sort();
    assert.deepEqual(paths, expected);
    assert.equal(problem.details.issue_count, undefined);
  }
});

testRefusals("an invalid agent_id is not reported again for the agent", async (refuse) => {
  const { details } = await refuse(changed(FULL, "agent_id", 5));
  assert.deepEqual(details.issues.map(({ path }: { path: string }) => path), ["agent_id"]);
});

testRefusals("faults of the text and of the schema are reported together, each once", async (refuse) => {
  const document = changed(FULL, "event_log_count", -1);
  const text = textWithMember(document, "state.messages[2].content[2].input", '"a":1,"a":2')
    .replace('"4711"', "1e999");
  const { details } = await refuse(text);
  assert.deepEqual(details.issues.map(({ path }: { path: string }) => path).sort(), [
    "event_log_count",
    "state.messages[2]",
    "tags.ticket",
  ]);
});

testRefusals(
  "of many problems a hundred are reported, and reading stops at the thousandth",
  async (refuse) => {
    const wrong = (count: number) =>
      snapshotOf({}, { messages: Array.from({ length: count }, () => ({ role: "user", content: 5 })) });
    const some = await refuse(wrong(999), { detail: /\(and 998 more\)$/ });
    assert.equal(some.details.issue_count, 999);
    const { details } = await refuse(wrong(10_000), { detail: /\(and at least 999 more\)$/ });
    assert.equal(details.issues.length, 100);
    assert.equal(details.issue_count, 1_000);
    assert.equal(details.issues[99].path, "state.messages[99].content");
    const hundred = await refuse(wrong(100));
    assert.deepEqual([hundred.details.issues.length, hundred.details.issue_count], [100, undefined]);
  },
);

testRefusals("a problem stays small even if the invalid value is large", async (refuse) => {
  const long = "x".repeat(100_000);
  const result = { type: "tool-result", toolCallId: long, toolName: "t", output: { type: "text" } };
  const documents = [
    changed(FULL, "tags", { [long]: 5 }),
    changed(FULL, "agent_id", long),
    changed(FULL, "state.messages", [{ role: "tool", content: [result] }]),
    changed(FULL, "state.messages", [{ role: "user", content: [{ type: "text", [long]: 1 }] }]),
  ].map((document) => JSON.stringify(document));
  documents.push(textWithMember(FULL, "extra", `"${long}":{"__proto__":1}`));
  documents.push(textWithMember(FULL, "", `"${long}":1,"${long}":1`));
  documents.push(textWith(FULL, "extra", `"${long}\n"`));
  for (const document of documents) {
    const length = JSON.stringify(await refuse(document)).length;
    assert.ok(length < 10_000, `${length} characters for ${document.slice(0, 100)}`);
  }
});

testRefusals("a problem quotes a document in valid Unicode", async (refuse) => {
  for (const json of ["😀", "x😀", '"a" 😀', "[1,😀]", '{"a":😀}', '{"b":"😀",😀']) {
    for (const path of ["extra", "tags.ticket", "state.messages[0].content", "events[0].seq"]) {
      const { detail, details } = await refuse(textWith(FULL, path, json));
      for (const text of [detail, ...details.issues.flatMap(Object.values)]) {
        assert.ok(text.isWellFormed(), `${json} gives ${JSON.stringify(text)}`);
      }
    }
  }
});
