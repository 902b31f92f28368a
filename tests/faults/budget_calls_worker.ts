/**
 * A process that makes calls under budgets: it reserves by the gate and books, as `meter()` does. It reads one order of JSON a
 * line; it prints `ready` and its instance, a line for each call that it has booked, and one for each order that is done.
 */
import { setImmediate } from "node:timers";
import { bookLooseCalls } from "../../src/calls/mod.ts";
import type { CallBounds, Refusal } from "../../src/budgets/mod.ts";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { parseDatabaseUrl } from "../../src/kernel/database_url.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { usageOf, worstCaseCost } from "../../src/pricing/mod.ts";
import type { ModelCall } from "../../src/ledger/mod.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { openStore } from "../../src/store/mod.ts";
import { createBooking } from "../harness/booking.ts";
import { seededRandom } from "../harness/random.ts";
import { TextLineStream } from "../harness/text_lines.ts";

/** The noon of all calls, so that no midnight falls into a test. */
export const NOON = Date.parse("2026-11-24T12:00:00.000Z");

/** Nano-USD of a call of so many output tokens. */
export const INPUT_TOKENS = 100;
export const RATES = { input: 1_000_000n, output: 4_000_000n };
export const MAX_OUTPUT_TOKENS = 400;
export const costOf = (outputTokens: number) =>
  worstCaseCost(RATES, { inputTokens: INPUT_TOKENS, outputTokens })!;

export interface CallsOrder {
  agentId: string;
  keyId: string;
  /** The first one is the root of the tree of all. */
  sessionIds: string[];
  /** The values of the tag `customer`, of which a call has one. */
  customers?: string[];
  calls: number;
  atOnce: number;
  seed: number;
  /** True for calls that cost more than their estimate, which `stop` allows. */
  isDearer?: boolean;
}

export interface CallsDone {
  made: number;
  refused: number;
  /** Refusals of calls that would have fitted. */
  wrong: string[];
}

/** Opens a database as any process does. */
export function openDatabase(db: string) {
  return openStore({
    location: parseDatabaseUrl(db),
    ...{ durability: "normal", remoteTimeoutMs: 30_000, clock: systemClock, ids: createIds(systemClock) },
    logic: databaseLogic,
  });
}

/** Works until it is told to end, or killed. */
export async function work(db: string): Promise<void> {
  const store = await openDatabase(db);
  const clock: Clock = { ...systemClock, now: () => NOON + Math.floor(performance.now()) };
  const ctx = await createBooking(store, { clock });
  console.log(`ready ${ctx.instanceId}`);
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const order: CallsOrder = JSON.parse(line);
    ctx.budgets.changed();
    const random = seededRandom(order.seed);
    const done: CallsDone = { made: 0, refused: 0, wrong: [] };
    let left = order.calls;
    const call = async () => {
      while (left-- > 0) await makeCall(ctx, order, random, done);
    };
    await Promise.all(Array.from({ length: order.atOnce }, call));
    console.log(JSON.stringify(done));
  }
  await store.close();
}

async function makeCall(
  ctx: Awaited<ReturnType<typeof createBooking>>,
  { agentId, keyId, sessionIds, customers, isDearer }: CallsOrder,
  random: () => number,
  done: CallsDone,
): Promise<void> {
  const outputTokens = 1 + Math.floor(random() * MAX_OUTPUT_TOKENS);
  const sessionId = sessionIds[Math.floor(random() * sessionIds.length)]!;
  const pick = (values: string[]) => values[Math.floor(random() * values.length)]!;
  const tags = customers && { tags: { customer: pick(customers) } };
  const [rootSessionId] = sessionIds as [string];
  const served = { provider: "local", model: "priced" };
  const scopes = {
    ...{ agentId, sessionId, rootSessionId, keyId, runId: ctx.ids.next("run"), budget: null },
    subjects: { ...served, source: "meter" as const, billing: "billed" as const, ...tags },
  };
  const bounds: CallBounds = {
    estimateNanoUsd: isDearer ? costOf(0) : costOf(outputTokens),
    isUnpriced: false,
    worst: { inputTokens: { max: INPUT_TOKENS }, outputTokens, rates: RATES },
  };
  const admission = await ctx.gate.admit({ ...scopes, bound: () => bounds });
  if (!admission.go) {
    done.refused++;
    for (const refusal of admission.refusals) if (!isRight(refusal)) done.wrong.push(describe(refusal));
    return;
  }
  const { grant, at } = admission;
  for (let turns = Math.floor(random() * 4); turns > 0; turns--) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const fate = random();
  if (fate < 0.1 && grant) return await ctx.gate.release(grant);
  const limit = grant?.outputLimit ?? outputTokens;
  const costNanoUsd = costOf(isDearer ? outputTokens : Math.ceil(limit * random()));
  if (grant?.isStrict && fate < 0.15) grant.lostNanoUsd = grant.amounts.worstNanoUsd! - costNanoUsd;
  const call: ModelCall = {
    ...{
      callId: ctx.ids.next("call"),
      at,
      agentId,
      sessionId,
      rootSessionId,
      keyId,
      runId: scopes.runId,
      step: null,
      tools: [],
    },
    ...{
      ...served,
      ...tags,
      source: "meter",
      usage: usageOf({ inputTokens: 1, outputTokens: 1 }),
      costNanoUsd,
    },
    ...{ priceSource: "config", durationMs: 1, isEstimated: false },
  };
  await bookLooseCalls(ctx, [call], { grant });
  done.made++;
  console.log("booked");
}

/** True if even a call of one token did not fit beside what was settled and held, or a `stop` budget was reached. */
function isRight({ reason, standing }: Refusal): boolean {
  const ceiling = standing.limitNanoUsd + standing.extraNanoUsd;
  if (reason === "spent") return standing.settledNanoUsd >= ceiling;
  if (standing.mode === "stop") return standing.settledNanoUsd + standing.estimatedNanoUsd >= ceiling;
  return standing.settledNanoUsd + standing.worstNanoUsd + standing.lostNanoUsd + costOf(1) > ceiling;
}

function describe({ reason, standing }: Refusal): string {
  return JSON.stringify(
    { reason, standing },
    (_key, value) => typeof value === "bigint" ? String(value) : value,
  );
}
