import assert from "node:assert/strict";
import { bookLooseCalls, rollUp, sightCalls } from "../src/calls/mod.ts";
import { listSources, saveImportFiles } from "../src/ingest/mod.ts";
import { ALL_SEEING, listCosts, viewerOf } from "../src/ledger/mod.ts";
import { usageOf } from "../src/pricing/mod.ts";
import type { TestBooking } from "./harness/booking.ts";
import { eagerClock } from "./harness/eager_clock.ts";
import { bookingTests, unchecked } from "./harness/booking_tests.ts";
import { dialectKinds } from "./harness/databases.ts";
import { AT, gatewayCall, LOG, sighting } from "./harness/sightings.ts";

const response = (number: number) => ({
  ref: `msg_${number}`,
  responseId: `msg_${number}2345abcdef`,
  requestId: `req_${number}2345abcdef`,
});

/** Two calls of one log alone, three that the gateway has seen, too, of which one with other counts. */
async function book(ctx: TestBooking): Promise<void> {
  const provisional = usageOf({ inputTokens: 1_000, outputTokens: 5 });
  await sightCalls(ctx, LOG, [
    sighting({ ...response(1), at: AT - 1_000, quality: "provisional", usage: provisional }),
    sighting({ ...response(2) }),
    sighting({ ...response(3) }),
  ]);
  await sightCalls(ctx, LOG, [sighting({ ...response(1), at: AT - 1_000 })]);
  const gateway = (number: number) =>
    gatewayCall({ callId: `call_${number}`, responseId: response(number).responseId });
  await bookLooseCalls(ctx, [gateway(3), gateway(4), gateway(5), gateway(6)]);
  await sightCalls(ctx, LOG, [
    sighting({ ...response(4), at: AT + 5_000 }),
    sighting({ ...response(5), usage: usageOf({ inputTokens: 900, outputTokens: 631 }) }),
  ]);
  await sightCalls(ctx, { ...LOG, machine: "desktop" }, [sighting({ ...response(7), at: AT - 60_000 })]);
}

async function shown(ctx: TestBooking, viewer = ALL_SEEING) {
  const sources = await listSources(ctx, viewer);
  return sources.map((one) => [
    [one.source, one.agent_id, one.machine].filter(Boolean).join(" "),
    [one.model_calls, one.cost_usd],
    [one.seen_alone, one.seen_with_others, one.conflicts, one.amended_calls],
    [one.first_at, one.last_at].map((time) => time && (Date.parse(time) - AT) / 1_000),
  ]);
}

const GATEWAY = ["gateway", [4, 0.014096], [1, 3, 0, 0], [-0.5, -0.5]];
const LAPTOP = ["log claude-code laptop", [2, 0.007048], [2, 3, 1, 1], [-1, 5]];
const DESKTOP = ["log claude-code desktop", [1, 0.003524], [1, 0, 0, 0], [-60, -60]];

for (const kind of dialectKinds()) {
  const test = bookingTests(kind, { clock: () => eagerClock(), check: unchecked });

  test("a source has its calls, those that others have seen, contradictions and corrections, before and after a roll-up", async (ctx) => {
    assert.deepEqual(await shown(ctx), []);
    await book(ctx);
    assert.deepEqual(await shown(ctx), [LAPTOP, GATEWAY, DESKTOP]);
    await rollUp(ctx);
    assert.deepEqual(await shown(ctx), [LAPTOP, GATEWAY, DESKTOP]);
    const ann = viewerOf({ keyId: "key_1", agentId: "ann" });
    assert.deepEqual(await shown(ctx, ann), [GATEWAY]);
    assert.deepEqual(await shown(ctx, viewerOf({ keyId: "key_2", agentId: "ben" })), []);
  });

  test("the calls of logs alone are counted as lower bounds in every report, before and after a roll-up", async (ctx) => {
    await book(ctx);
    const bounds = async () => {
      const rows = await Promise.all(
        (["agent", "source", "session", "day", "tag:machine"] as const).map((groupBy) =>
          listCosts(ctx.store, { groupBy, limit: 10, offset: 0 })
        ),
      );
      return rows.map((group) => group.map((row) => [row.model_calls, row.lower_bound_calls]));
    };
    const expected = [
      [[4, 0], [3, 3]],
      [[4, 0], [3, 3]],
      [[7, 3]],
      [[7, 3]],
      [[5, 2], [1, 0], [1, 1]],
    ];
    assert.deepEqual(await bounds(), expected);
    await rollUp(ctx);
    assert.deepEqual(await bounds(), expected);
  });

  test("a source of logs has what its imports have left out, and its state", async (ctx) => {
    await sightCalls(ctx, LOG, [sighting()]);
    const state = { size: 9, modified_at: 1, read_to: 9, head: "", is_ended: true, state: null };
    const whole = { ...state, unmetered: 0, malformed: 0, fault: null };
    const origin = { keyId: "key_1", machine: "laptop", importer: "claude-code" };
    await saveImportFiles(ctx, origin, [
      { ...whole, path: "/a", unmetered: 2 },
      { ...whole, path: "/b", malformed: 3, fault: "permission denied" },
    ]);
    const read = async (viewer = ALL_SEEING) => {
      const [one] = await listSources(ctx, viewer);
      return one && [one.state, one.files, one.unmetered, one.malformed, one.unreadable_files, one.fault];
    };
    assert.deepEqual(await read(), ["unreadable", 2, 2, 3, 1, "/b: permission denied"]);
    await saveImportFiles(ctx, origin, [{ ...whole, path: "/b", malformed: 3 }]);
    assert.deepEqual(await read(), ["active", 2, 2, 3, 0, null]);
    const [source] = await listSources(ctx, ALL_SEEING);
    assert.equal(source!.lower_bound, true);
    assert.match(source!.holes[0]!, /^Compactions/);
    assert.deepEqual(await read(viewerOf({ keyId: "key_2", agentId: "claude-code" })), [
      "active",
      ...[0, 0, 0, 0, null],
    ]);
    await sightCalls(ctx, { ...LOG, machine: "plan" }, [sighting({ ...response(8), isPlan: true })]);
    const ofPlan = (await listSources(ctx, ALL_SEEING)).find(({ machine }) => machine === "plan")!;
    assert.deepEqual([ofPlan.cost_usd, ofPlan.plan_usd, source!.plan_usd], [0, 0.003524, undefined]);
    const inEightDays = { ...ctx, clock: { now: () => AT + 8 * 86_400_000 } };
    assert.equal((await listSources(inEightDays, ALL_SEEING))[0]!.state, "quiet");
  });
}
