import { type CallContext, createBookingWriter, RollUps } from "../../src/calls/mod.ts";
import { noSpool } from "../../src/calls/spool/mod.ts";
import { KnownBudgets } from "../../src/budgets/known/mod.ts";
import { createBudgetGate } from "../../src/budgets/reservations/mod.ts";
import { type BusEvent, createBus, Feed } from "../../src/bus/mod.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { createIds } from "../../src/kernel/ids.ts";
import type { Log, LogFields } from "../../src/kernel/log.ts";
import { PriceOverride } from "../../src/contract/price_override.ts";
import type { LazyPriceBook, PriceBook } from "../../src/pricing/mod.ts";
import { openPrices, type PricesInUse } from "../../src/pricing/prices.ts";
import { claimSession, newMessage, type NewRun, type RecoveryContext } from "../../src/sessions/mod.ts";
import { createSecrets } from "../../src/redaction/values/mod.ts";
import { USER_TABLES } from "../../src/store/dialect.ts";
import { type Author, createQuery, type Store } from "../../src/store/mod.ts";
import { noTelemetry } from "../../src/telemetry/mod.ts";
import { eagerClock } from "./eager_clock.ts";

/** A booking context over a store of the test's own, with what it has published and logged. */
export interface TestBooking extends CallContext {
  prices: CallContext["prices"] & Pick<LazyPriceBook, "inUse">;
  liveRuns: RecoveryContext["liveRuns"];
  author: Author;
  published: BusEvent[];
  errors: { message: string; fields?: LogFields }[];
}

/** 1 USD per million input tokens and 4 per million output: 1,000 and 4,000 nano-USD a token. */
export const LOCAL_PRICE = PriceOverride.parse({
  provider: "local",
  model: "priced",
  input_usd_per_million: 1,
  output_usd_per_million: 4,
});

let prices: Promise<PricesInUse> | undefined;
const inUse = () => prices ??= openPrices({ overrides: [LOCAL_PRICE] });

/** The contexts of one process for booking. */
export async function createBooking(
  store: Store,
  options: { clock?: Clock; instanceId?: string; prices?: PriceBook } = {},
): Promise<TestBooking> {
  const clock = options.clock ?? eagerClock();
  const ids = createIds(clock);
  const errors: TestBooking["errors"] = [];
  const log: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (message, fields) => void errors.push({ message, fields }),
  };
  const instanceId = options.instanceId ?? ids.next("inst");
  const bus = createBus(log);
  const published: BusEvent[] = [];
  const budgets = new KnownBudgets({ store, clock });
  bus.subscribe((event) => void published.push(event));
  const rules = { mayExist: true };
  const outboxChannels = [{ name: "log", kind: "log", minSeverity: "info" as const }];
  return {
    store,
    author: { actor: "code" },
    query: createQuery(store),
    clock,
    ids,
    instanceId,
    liveRuns: new Set(),
    bus,
    bookedCalls: new Feed(log),
    secrets: createSecrets(),
    bookings: createBookingWriter({ clock, ids, rules, budgets, outboxChannels }),
    rollUps: new RollUps(),
    callSpool: noSpool(),
    gate: createBudgetGate({ store, clock, instanceId, newId: ids.next, known: budgets }),
    budgets,
    prices: { ...(options.prices ?? (await inUse()).book), inUse },
    log,
    telemetry: noTelemetry,
    rules,
    outboxChannels,
    wakeDispatcher() {},
    published,
    errors,
  };
}

/** Starts a run of `agent`, as the runner does. */
export async function beginRun(ctx: CallContext, run: Partial<NewRun> = {}) {
  const place = {
    sessionId: run.sessionId ?? ctx.ids.next("ses"),
    runId: run.runId ?? ctx.ids.next("run"),
    agentId: run.agentId ?? "agent",
  };
  const { lastSeq } = await claimSession(ctx, {
    model: "local:priced",
    costBudgetNanoUsd: null,
    budgetMode: "stop",
    payload: { input: "hello" },
    input: newMessage(ctx.ids, ctx.clock.now(), { role: "user", content: "hello" }),
    ...run,
    ...place,
  });
  return { ...place, lastSeq };
}

/** Makes every booking fail, but no reservation, until the returned function is called. */
export function failBookings(store: Store, error: Error): () => void {
  const { writeInSet } = store;
  store.writeInSet = (writer, item) =>
    typeof item === "object" && item !== null && "calls" in item
      ? Promise.reject(error)
      : writeInSet.call(store, writer, item) as ReturnType<typeof store.writeInSet<typeof item, never>>;
  return () => void (store.writeInSet = writeInSet);
}

/** The whole content of a database, table by table, for comparison. */
export async function dump(store: Store): Promise<Record<string, unknown[][]>> {
  const { rows } = await store.read({ sql: USER_TABLES });
  const tables = rows.map(([name]) => String(name)).sort();
  const results = await store.readAll(tables.map((name) => ({ sql: `SELECT * FROM ${name} ORDER BY 1, 2` })));
  return Object.fromEntries(tables.map((name, index) => [name, results[index]!.rows]));
}
