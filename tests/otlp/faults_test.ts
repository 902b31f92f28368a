import assert from "node:assert/strict";
import { listFaults, listSources } from "../../src/ingest/mod.ts";
import { FaultCounts } from "../../src/ingest/otlp/export_faults.ts";
import { ALL_SEEING, viewerOf } from "../../src/ledger/mod.ts";
import { eagerClock } from "../harness/eager_clock.ts";
import { bookingTests, unchecked } from "../harness/booking_tests.ts";
import { dialectKinds } from "../harness/databases.ts";

const origin = { name: "billing", agentId: "biller", machine: "web-1" };
const fault = {
  origin,
  scope: "opentelemetry.instrumentation.openai_v2",
  reason: "its counts are negative",
};
const save = (
  ctx: Parameters<FaultCounts["save"]>[0],
  keyId: string,
  kinds: readonly Parameters<FaultCounts["add"]>[0][],
) => {
  const counts = new FaultCounts({ keyId });
  for (const kind of kinds) counts.add(kind, fault);
  return counts.save(ctx);
};

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => eagerClock(), check: unchecked });

  test("a source of exports has what was not booked of them, with what to switch on, and is incomplete for a week", async (ctx) => {
    await save(ctx, "key_1", []);
    assert.deepEqual(await listSources(ctx, ALL_SEEING), []);
    await save(ctx, "key_1", ["unmetered", "unmetered", "rollup", "rejected", "duplicate"]);
    await save(ctx, "key_2", ["unmetered", "unmetered", "rejected"]);
    const list = async (viewer = ALL_SEEING) => {
      const sources = await listSources(ctx, viewer);
      return sources.map((one) => [
        ...[one.source, one.agent_id, one.machine, one.state, one.holes.length],
        ...[one.model_calls, one.unmetered, one.rollups, one.malformed, one.duplicates],
      ]);
    };
    assert.deepEqual(await list(), [["otlp", "biller", "web-1", "incomplete", 3, 0, 4, 1, 2, 1]]);
    const [source] = await listSources(ctx, ALL_SEEING);
    assert.deepEqual(source!.holes.map((hole) => hole.slice(fault.scope.length)), [
      ": 2 records that can't be booked. The last one: its counts are negative.",
      ": 1 sum without a call beneath. Switch on the instrumentation of the SDK that makes the model calls.",
      ": 4 model calls without usage. Cached and reasoning tokens are missing, and so are calls of the Responses API and of " +
      "parse(). Ask for usage: streams of OpenAI's chat completions have it with stream_options.include_usage.",
    ]);
    assert.deepEqual(await list(viewerOf({ keyId: "key_2", agentId: "biller" })), [
      ["otlp", "biller", "web-1", "incomplete", 2, 0, 2, 0, 1, 0],
    ]);
    const counts = new FaultCounts({ keyId: "key_4" });
    counts.add("duplicate", { origin: { name: "codex", agentId: "codex" }, scope: "codex", reason: "" });
    await counts.save(ctx);
    const [codex] = await listSources(ctx, viewerOf({ keyId: "key_4", agentId: "codex" }));
    assert.deepEqual([codex!.state, codex!.duplicates], ["quiet", 1]);
    assert.match(codex!.holes[0]!, /^Answers that are cut off/);
    assert.deepEqual(await list(viewerOf({ keyId: "key_3", agentId: "biller" })), []);
    const later = (days: number) => ({ ...ctx, clock: { now: () => ctx.clock.now() + days * 86_400_000 } });
    assert.deepEqual((await listSources(later(8), ALL_SEEING)).map(({ state }) => state), ["quiet", "quiet"]);
    await save(later(31), "key_2", ["unmetered"]);
    assert.deepEqual(await list(viewerOf({ keyId: "key_2", agentId: "biller" })), [
      ["otlp", "biller", "web-1", "incomplete", 1, 0, 1, 0, 0, 0],
    ]);
  });

  test("the counts of a key's exports are bounded, and those of a key of one agent are its agent's", async (ctx) => {
    const saveMany = (sender: { keyId: string; agentId?: string }, from: number) => {
      const counts = new FaultCounts(sender);
      for (let index = from; index < from + 150; index++) {
        const scope = "sdk\0".repeat(100) + index;
        counts.add("unmetered", {
          origin: { name: "", agentId: `agent-${index}` },
          scope,
          reason: "no usage".repeat(100),
        });
      }
      return counts.save(ctx);
    };
    for (let from = 0; from < 2_000; from += 150) await saveMany({ keyId: "key_1" }, from);
    const all = await listFaults(ctx, "key_1");
    assert.ok(all.length >= 1_000 && all.length < 1_100, String(all.length));
    assert.ok(all.every(({ scope, reason }) => scope.length === 128 && reason.length === 300));
    await saveMany({ keyId: "key_1" }, 0);
    assert.equal((await listFaults(ctx, "key_1"))[0]!.records, 2);
    await saveMany({ keyId: "key_2", agentId: "mine" }, 0);
    assert.deepEqual((await listFaults(ctx, "key_2")).map(({ agentId, records }) => [agentId, records]), [[
      "mine",
      150,
    ]]);
  });
}
