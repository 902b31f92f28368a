import assert from "node:assert/strict";
import type { CallBounds } from "../../src/budgets/mod.ts";
import type { Admission } from "../../src/budgets/reservations/mod.ts";
import { readRunCost } from "./run_cost.ts";
import type { Store } from "../../src/store/mod.ts";
import type { TestBooking } from "./booking.ts";
import { databaseKinds, type TestDatabase } from "./databases.ts";
import { cases, isThorough } from "./thorough.ts";

/** Nano-USD a token of `local:priced`. */
export const INPUT_RATE = 1_000n;
export const OUTPUT_RATE = 4_000n;
/** The run that the calls of a test share. */
export const RUN = "run_shared";

/** The longest wait for a budget that must be free. */
const TIMEOUT_MS = 10_000;

/** The cost of a response of `local:priced`. */
export const costOf = (answer: { inputTokens: number; outputTokens: number }) =>
  BigInt(answer.inputTokens) * INPUT_RATE + BigInt(answer.outputTokens) * OUTPUT_RATE;

/** The number of reservations in the database. */
export async function countReservations(store: Store): Promise<number> {
  return Number(
    (await store.read({ sql: "SELECT count(*) FROM reservations WHERE is_lost = 0" })).rows[0]![0],
  );
}

/** The bounds of a call of so many input tokens of a nano-USD each, and no output. */
export const inputOf = (max: number): CallBounds => ({
  estimateNanoUsd: 0n,
  isUnpriced: false,
  worst: { inputTokens: { max }, outputTokens: 0, rates: { input: 1_000n, output: 1_000n } },
});

/** Fails if anything is still reserved: the rest of the budget must be free, to the last nano-USD. */
export async function checkAllFree(ctx: TestBooking, limitNanoUsd: bigint): Promise<void> {
  assert.equal(await countReservations(ctx.store), 0);
  // The worst case of calls without a count stays reserved until the run ends.
  await ctx.store.write(ctx.gate.endRun(RUN));
  const left = limitNanoUsd - await readRunCost(ctx.store, RUN);
  if (left <= 0n) return;
  const giveUp = new AbortController();
  let admission: Admission | undefined;
  const admitted = ctx.gate.admit({
    ...{ runId: RUN, agentId: "agent", sessionId: null, keyId: null },
    budget: { limitNanoUsd, mode: "strict" },
    bound: () => inputOf(Number(left)),
    signal: giveUp.signal,
  }).then((answer) => void (admission = answer), () => {});
  const deadline = performance.now() + TIMEOUT_MS;
  while (!admission && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 0));
  giveUp.abort();
  await admitted;
  assert.ok(isGranted(admission), "something is still reserved");
  await ctx.gate.release(admission.grant!);
  assert.equal(await countReservations(ctx.store), 0);
}

/** True if the gate let a call through. */
export function isGranted(admission: Admission | undefined): admission is Admission & { go: true } {
  return admission?.go === true;
}

/** A kind of database under a gate. */
export interface Setting {
  name: string;
  ignore: boolean;
  create(): Promise<TestDatabase>;
  /** The number of random cases: most where one costs least, since file and memory run the same statements. */
  numRuns: number;
}

/** The databases, by kind. */
export const kinds = databaseKinds();

/** Those for suites about decisions: over a file and sqld, which run the statements of memory, in a thorough run only. */
export const kindsInTime = kinds.filter(({ name }) => isThorough || name === "memory" || name === "postgres");

/** Declares a test of the gate over every database. */
export const settings: Setting[] = kindsInTime.map(({ name, ignore, create }) => ({
  name: `the gate on ${name}`,
  ignore,
  create,
  numRuns: cases({ file: 2, memory: 3, sqld: 1, postgres: 1 }[name]),
}));
