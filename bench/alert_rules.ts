/**
 * What alert rules add to the booking of a call: with no rules, and with many that don't fire. Each is a database of
 * its own in memory; the same call is booked in all of them in turn.
 */
import { createBooking } from "../tests/harness/booking.ts";
import { modelCall } from "../tests/harness/model_calls.ts";
import { insertRules, ruleRow } from "../tests/harness/alerts.ts";
import { THRESHOLD_TYPES } from "../src/alerts/mod.ts";
import { bookLooseCalls } from "../src/booking/mod.ts";
import { systemClock } from "../src/clock.ts";
import { migrate } from "../src/store/migrate.ts";
import { SqliteStore } from "../src/store/sqlite_store.ts";
import { ratio, report, timeInTurn, us } from "./measure.ts";

const RUNS = 3_000;

/** A database with that many rules: of the booked agent, of others, of all; none is ever reached, some rest. */
async function withRules(count: number, path: string) {
  const store = await SqliteStore.open({ path, durability: "normal" });
  await migrate(store, systemClock);
  const ctx = await createBooking(store, { clock: systemClock });
  ctx.rules.mayExist = count > 0;
  const rows = Array.from({ length: count }, (_, index) => {
    const rests = index % 10 === 3;
    return ruleRow({
      ruleId: `rule_${index}`,
      thresholdType: THRESHOLD_TYPES[index % 5]!,
      thresholdNanoUsd: rests ? 1n : 900_000_000_000_000n + BigInt(index),
      scope: ["", "agent", `other_${index}`][index % 3]!,
      enabled: index % 7 !== 0,
      isArmed: index % 7 !== 0 && !rests,
      cooldownFrom: rests ? Date.now() : null,
      restsUntil: rests ? Date.now() + 86_400_000 : null,
    });
  });
  for (let start = 0; start < rows.length; start += 1_000) {
    await insertRules(store, rows.slice(start, start + 1_000));
  }
  let calls = 0;
  return () =>
    bookLooseCalls(ctx, [
      modelCall({
        callId: `call_${++calls}`,
        at: Date.now(),
        sessionId: `ses_${calls % 50}`,
        runId: `run_${calls % 50}`,
      }),
    ]);
}

const directory = await Deno.makeTempDir();
const at = (name: string) => withRules(Number(name), `${directory}/rules_${name}.db`);
const times = await timeInTurn({
  none: await at("0"),
  ten: await at("10"),
  thousand: await at("1000"),
  hundredThousand: await at("100000"),
}, { runs: RUNS });
report("Booking one call, local file, synchronous=NORMAL, with alert rules that don't fire, medians", [
  ["no rules", us(times.none)],
  ["10 rules", us(times.ten)],
  ["1,000 rules", us(times.thousand)],
  ["100,000 rules", `${us(times.hundredThousand)}, ${ratio(times.hundredThousand, times.ten)} of 10`],
]);
await Deno.remove(directory, { recursive: true });
