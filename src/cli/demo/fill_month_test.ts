import assert from "node:assert/strict";
import { openDatabase } from "../../client/mod.ts";
import { DAY_MS, fixedClock } from "../../kernel/clock.ts";
import { createIds } from "../../kernel/ids.ts";
import { silentLog } from "../../kernel/log.ts";
import { fillMonth } from "./fill_month.ts";
import { keepMoving } from "./serve_demo.ts";
import { createRandom } from "./random.ts";
import { ScriptedModels } from "./scripted_models.ts";

const END = Date.parse("2026-11-20T15:20:00.000Z");

const HOURS = 3;

/** Seconds: shorter than the pauses of its agents. */
const STEP = 2;

/** Makes up some days, and returns their books. */
async function fillDays(days: number) {
  const clock = fixedClock(END - days * DAY_MS);
  const random = createRandom(3);
  let isFull = false;
  const models = new ScriptedModels((delayMs, signal) =>
    isFull ? clock.sleep(delayMs, signal) : Promise.resolve(clock.advance(delayMs))
  );
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
  isFull = true;
  const get = async (path: string) => await (await app.fetch(new Request(`http://localhost${path}`))).json();
  return { get, close, clock, world: { core, random, models } };
}

Deno.test("a made-up month is the same for the same seed and time, with logs to replay of tools, costs and durations", async () => {
  const { get, close } = await fillDays(1);
  const again = await fillDays(1);
  for (const path of ["/costs?group_by=agent", "/sessions?limit=500"]) {
    assert.deepEqual(await get(path), await again.get(path));
  }
  await again.close();
  assert.ok((await get("/costs?group_by=agent")).length >= 5);
  const runs: { session_id: string; event_log_count: number }[] = (await get("/sessions?limit=500"))
    .filter(({ event_log_count }: { event_log_count: number }) => event_log_count > 0);
  assert.ok(runs.length > 10);
  for (const { session_id } of runs.slice(0, 10)) {
    const events: { type: string; at: string; payload: Record<string, unknown> }[] = await get(
      `/sessions/${session_id}/events`,
    );
    const types = events.map(({ type }) => type);
    assert.deepEqual(types.slice(0, 2), ["session.created", "run.started"]);
    const last = types.findLast((type) => type !== "anomaly.detected")!; // which is told afterwards
    assert.match(last, /^(run\.(completed|failed)|budget\.exceeded)$/);
    const calls = events.filter(({ type }) => type === "model.called");
    assert.ok(calls.every(({ payload }) => Number(payload.cost_usd) > 0 && Number(payload.duration_ms) > 0));
    assert.ok(types.includes("tool.returned") || calls.length <= 1);
    assert.ok(Date.parse(events.at(-1)!.at) > Date.parse(events[0]!.at));
  }
  await close();
});

Deno.test("its keys were used, but for the one that was revoked after a week", async () => {
  const { get, close } = await fillDays(8);
  const keys: Record<string, string>[] = await get("/keys?limit=100");
  const { revoked_at, last_used_at } = keys.find(({ name }) => name === "old laptops")!;
  assert.equal(revoked_at, "2026-11-19T15:20:00.000Z");
  assert.ok(last_used_at! <= revoked_at! && last_used_at! > "2026-11-19");
  for (const { name, last_used_at } of keys.filter(({ status }) => status === "active")) {
    assert.ok(last_used_at! > "2026-11-20", `${name} was last used at ${last_used_at}`);
  }
  const rules: { name: string; agent_id: string | null }[] = await get("/alerts/rules");
  assert.deepEqual(rules.filter(({ agent_id }) => agent_id === null).map(({ name }) => name), [
    "Busy day",
    "Dear session",
  ]);
  await close();
});

Deno.test("its agents continue at a pace at which no budget is used up within hours", async () => {
  const { get, close, clock, world } = await fillDays(2);
  const from = new Date(clock.now()).toISOString();
  const ended = new AbortController();
  const moving = keepMoving(world, ended.signal);
  for (let second = 0; second < HOURS * 3_600; second += STEP) {
    clock.advance(STEP * 1_000);
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  ended.abort();
  await moving;
  const rows: { agent_id: string; cost_usd: number; model_calls: number }[] = await get(
    `/costs?group_by=agent&from=${from}`,
  );
  // In a whole month the budget of the prompt lab is used up.
  const agents = rows.filter(({ agent_id }) => agent_id !== "prompt-lab");
  const perHour = agents.reduce((sum, { cost_usd }) => sum + cost_usd, 0) / HOURS;
  assert.ok(perHour > 0.5 && perHour < 3, `$${perHour} per hour`);
  const callsPerHour = agents.reduce((sum, { model_calls }) => sum + model_calls, 0) / HOURS;
  assert.ok(callsPerHour > 120 && callsPerHour < 600, `${callsPerHour} calls per hour`);
  await close();
});
