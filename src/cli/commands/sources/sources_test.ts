import assert from "node:assert/strict";
import { openTestBooks } from "../../../../tests/harness/test_books.ts";
import { FaultCounts } from "../../../ingest/otlp/export_faults.ts";

Deno.test("purser sources shows what telemetry leaves out, with what to switch on, and escapes its names", async () => {
  await using books = await openTestBooks();
  const counts = new FaultCounts({ keyId: null });
  const fault = {
    origin: { name: "shop", agentId: "shop", machine: "web\u001b[2J" },
    scope: "sdk\u001b[2J",
    reason: "it ends before it begins",
  };
  for (const kind of ["unmetered", "rollup", "rollup", "rejected", "duplicate"] as const) {
    counts.add(kind, fault);
  }
  await counts.save(books.core);
  const { code, out, err } = await books.purser("sources");
  assert.deepEqual([code, err], [0, ""]);
  const [head, row, ...lines] = out.trimEnd().split("\n");
  assert.match(
    head!,
    /^SOURCE +AGENT +MACHINE +CALLS +COST +UNMETERED +SUMS ALONE +MALFORMED +REPEATED +STATE$/,
  );
  assert.match(row!, /^otlp +shop +web\\x1b\[2J +0 +\$0 +1 +2 +1 +1 +incomplete$/);
  assert.deepEqual(lines, [
    "What is left out, so that these costs are lower bounds:",
    "shop: sdk\\x1b[2J: 1 record that can't be booked. The last one: it ends before it begins.",
    "shop: sdk\\x1b[2J: 2 sums without a call beneath. Switch on the instrumentation of the SDK that makes the model calls.",
    "shop: sdk\\x1b[2J: 1 model call without usage. Ask for usage: streams of OpenAI's chat completions have it with " +
    "stream_options.include_usage.",
  ]);
});
