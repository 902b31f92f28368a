import assert from "node:assert/strict";
import { sightCalls } from "../../src/calls/mod.ts";
import { recordPlanWindows } from "../../src/plans/mod.ts";
import { readStatusLineWindows } from "../../src/plans/sources/mod.ts";
import { LOCAL_PRICE } from "../harness/booking.ts";
import { LOG, sighting } from "../harness/sightings.ts";
import { openTestBooks } from "../harness/test_books.ts";

/** `purser plans`, and the import of a log with the windows of a plan. */

const NOW = Date.parse("2026-11-21T09:30:00.000Z");
const HOUR = 3_600_000;
const PRICES = [LOCAL_PRICE];
const seconds = (time: number) => Math.round(time / 1000);

Deno.test("purser plans shows use beside pace, reset, age and value by the API, and nothing that isn't known", async () => {
  await using books = await openTestBooks({ prices: PRICES });
  const core = await books.core;
  const call = (ref: string, at: number) =>
    sighting({ isPlan: true, at, ref, responseId: `msg_${ref}23456789`, requestId: undefined });
  await sightCalls(core, LOG, [
    call("a", NOW - HOUR),
    call("b", NOW - 4 * HOUR),
    call("c", NOW - 60_000),
  ]);
  await sightCalls(core, { ...LOG, machine: "other" }, [call("d", NOW - HOUR)]);
  const json = {
    rate_limits: {
      five_hour: { used_percentage: 80, resets_at: seconds(NOW + 2 * HOUR) },
      seven_day: { used_percentage: 100, resets_at: seconds(NOW + 84 * HOUR) },
    },
  };
  const line = { agent: "claude-code", source: "statusline", owner: { machine: "laptop" } } as const;
  await recordPlanWindows(core, line, readStatusLineWindows(json), NOW);
  const log = { agent: "codex", source: "log", owner: { machine: "laptop" } } as const;
  await recordPlanWindows(core, log, [
    {
      window: "seven_day",
      usedPercent: 12,
      resetsAt: NOW - HOUR,
      lengthMs: 168 * HOUR,
      measuredAt: NOW - 50 * HOUR,
    },
    { window: "credits", credits: { balance: "12.50" }, measuredAt: NOW - 3 * HOUR, plan: "plus" },
  ], NOW);
  const { code, out, err } = await books.purser("plans");
  assert.deepEqual([code, err], [0, ""]);
  const lines = out.trimEnd().split("\n").map((line) => line.replace(/ {2,}/g, " | "));
  assert.deepEqual(lines, [
    "PLAN | MACHINE | WINDOW | USED | GONE | PACE | RUNS OUT (UTC) | RESETS (UTC) | MEASURED | API VALUE | STATE",
    "claude-code | laptop | five_hour | 80% | 60% | 1.33 | 2026-11-21 10:15 | 2026-11-21 11:30 | just now | $0.007048 | open",
    "claude-code | laptop | seven_day | 100% | 50% | 2.00 | - | 2026-11-24 21:30 | just now | $0.010572 | ended",
    "codex | laptop | seven_day | was 12% | - | - | - | 2026-11-21 08:30 | 2 days ago | - | reset",
    "codex plus | laptop | credits | - | - | - | - | - | 3 hours ago | - | balance 12.50",
  ]);
  const [five] = JSON.parse((await books.purser("plans --json")).out);
  assert.deepEqual(
    [five.used_pct, five.elapsed_pct, five.pace, five.runs_out_at, five.plan_usd, five.price_usd_per_month],
    [80, 60, 1.33, "2026-11-21T10:15:00.000Z", 0.007048, null],
  );
});

const usage = (input: number) => ({
  input_tokens: input,
  cached_input_tokens: 0,
  output_tokens: 5,
  reasoning_output_tokens: 0,
  total_tokens: input + 5,
});
const record = (at: number, type: string, payload: object) =>
  JSON.stringify({ timestamp: new Date(at).toISOString(), type, payload }) + "\n";
const limits = (used: number, at: number) => ({
  limit_id: "codex",
  primary: { used_percent: used, window_minutes: 300, resets_at: seconds(NOW + HOUR) },
  secondary: null,
  credits: { has_credits: false, unlimited: false, balance: "0" },
  plan_type: at > 0 ? "plus" : null,
});
const counted = (at: number, used: number, sum: number) =>
  record(at, "event_msg", {
    type: "token_count",
    info: { total_token_usage: usage(sum), last_token_usage: usage(10) },
    rate_limits: limits(used, at),
  });

Deno.test("purser import records the latest windows in the logs of Codex, and not those that a fork has copied", async () => {
  await using books = await openTestBooks();
  const folder = await Deno.makeTempDir();
  try {
    const [parent, fork] = ["01a217ac-fee1-7693-95a0-6db42d318692", "01a217ac-fee1-7693-95a0-6db42d318693"];
    const path = (id: string) => `${folder}/rollout-2026-11-21T09-00-00-${id}.jsonl`;
    await Deno.writeTextFile(
      path(parent),
      record(NOW - HOUR, "session_meta", { id: parent, cwd: "/shop", model_provider: "openai" }) +
        counted(NOW - 3_000_000, 10, 10) + counted(NOW - 600_000, 30, 25),
    );
    const copied = counted(NOW - 10_000, 10, 10);
    await Deno.writeTextFile(
      path(fork),
      record(NOW - 10_000, "session_meta", { id: fork, forked_from_id: parent, cwd: "/shop" }) + copied,
    );
    const windows = async () => {
      const { code, err } = await books.purser(`import codex --path ${folder} --machine laptop`, {
        env: { HOME: folder },
      });
      assert.equal(code, 0, err);
      const all = JSON.parse((await books.purser("plans --json")).out);
      return all.map((
        each: Record<string, unknown>,
      ) => [each.window, each.plan, each.used_pct, each.measured_at]);
    };
    const credits = (at: string) => ["credits", "plus", null, at];
    assert.deepEqual(await windows(), [
      ["five_hour", "plus", 30, "2026-11-21T09:20:00.000Z"],
      credits("2026-11-21T09:20:00.000Z"),
    ]);
    await Deno.writeTextFile(path(parent), counted(NOW - 5_000, 31, 40), { append: true });
    assert.deepEqual(await windows(), [
      ["five_hour", "plus", 31, "2026-11-21T09:29:55.000Z"],
      credits("2026-11-21T09:29:55.000Z"),
    ]);
    // The account of the login of this machine, of which other machines are known to have the same plan.
    const accounts = async () =>
      JSON.parse((await books.purser("plans --json")).out).map((
        { account, machines }: Record<string, unknown>,
      ) => [account, machines]);
    assert.deepEqual(await accounts(), [[null, ["laptop"]], [null, ["laptop"]]]);
    const claims = {
      "https://api.openai.com/auth": { chatgpt_account_id: "acc", chatgpt_user_id: "user-1" },
    };
    const token = ["e30", btoa(JSON.stringify(claims)).replaceAll("=", ""), "secret"].join(".");
    await Deno.mkdir(`${folder}/.codex`);
    await Deno.writeTextFile(`${folder}/.codex/auth.json`, JSON.stringify({ tokens: { id_token: token } }));
    await Deno.writeTextFile(path(parent), counted(NOW - 1_000, 32, 50), { append: true });
    const { code } = await books.purser(`import codex --path ${folder}`, { env: { HOME: folder } });
    assert.equal(code, 0);
    const own = ["acc/user-1", [Deno.hostname()]];
    assert.deepEqual(await accounts(), [[null, ["laptop"]], [null, ["laptop"]], own, own].sort());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
