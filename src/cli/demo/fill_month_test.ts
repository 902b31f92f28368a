import assert from "node:assert/strict";
import { openDatabase } from "../../client/mod.ts";
import { DAY_MS, fixedClock } from "../../kernel/clock.ts";
import { createIds } from "../../kernel/ids.ts";
import { silentLog } from "../../kernel/log.ts";
import { fillMonth } from "./fill_month.ts";
import { createRandom } from "./random.ts";
import { ScriptedModels } from "./scripted_models.ts";

const END = Date.parse("2026-11-20T15:20:00.000Z");

/** Makes up two days, and returns their books. */
async function fillTwoDays() {
  const clock = fixedClock(END - 2 * DAY_MS);
  const random = createRandom(3);
  const models = new ScriptedModels((delayMs) => Promise.resolve(clock.advance(delayMs)));
  const { core, app, close } = await openDatabase({
    clock,
    ids: createIds(clock, (length) => random.bytes(length)),
    models: models.models(),
    tools: models.tools(),
    env: {},
    log: silentLog,
    config: {
      dbUrl: ":memory:",
      durability: "normal",
      environment: "demo",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 1_000_000,
    },
  });
  await core.prices.ready();
  await fillMonth({ core, clock, random, models }, { end: END });
  const get = async (path: string) => await (await app.fetch(new Request(`http://localhost${path}`))).json();
  return { get, close };
}

Deno.test("a made-up month is the same for the same seed and time", async () => {
  const costs = [];
  for (let times = 0; times < 2; times++) {
    const { get, close } = await fillTwoDays();
    costs.push([await get("/costs?group_by=agent"), await get("/sessions?limit=500")]);
    await close();
  }
  assert.ok(costs[0]![0].length >= 5);
  assert.deepEqual(costs[0], costs[1]);
});

Deno.test("its sessions have logs to replay, with tools, costs and the time that each step took", async () => {
  const { get, close } = await fillTwoDays();
  const runs: { session_id: string; event_log_count: number }[] = (await get("/sessions?limit=500"))
    .filter(({ event_log_count }: { event_log_count: number }) => event_log_count > 0);
  assert.ok(runs.length > 10);
  for (const { session_id } of runs.slice(0, 10)) {
    const events: { type: string; at: string; payload: Record<string, unknown> }[] = await get(
      `/sessions/${session_id}/events`,
    );
    const types = events.map(({ type }) => type);
    assert.deepEqual(types.slice(0, 2), ["session.created", "run.started"]);
    assert.match(types.at(-1)!, /^(run\.(completed|failed)|budget\.exceeded)$/);
    const calls = events.filter(({ type }) => type === "model.called");
    assert.ok(calls.every(({ payload }) => Number(payload.cost_usd) > 0 && Number(payload.duration_ms) > 0));
    assert.ok(types.includes("tool.returned") || calls.length <= 1);
    assert.ok(Date.parse(events.at(-1)!.at) > Date.parse(events[0]!.at));
  }
  await close();
});
