import assert from "node:assert/strict";
import { bookInModel, type ModelAlert, type RuleState } from "../harness/decision_model.ts";
import type { RuleRow } from "../../src/alerts/rules/rule_fields.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { parseDatabaseUrl } from "../../src/kernel/database_url.ts";
import { databaseLogic } from "../../src/service/parts.ts";
import { createIds } from "../../src/kernel/ids.ts";
import { type ModelCall, toModelCall } from "../../src/ledger/mod.ts";
import { createQuery, openStore, type Store, tables, toObjects } from "../../src/store/mod.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { CHANNEL, configOf, type Line, type Order } from "./alert_worker.ts";
import { bundleWorker } from "../harness/shared_build.ts";

const WORKER = await bundleWorker("alert");
const TIMEOUT_MS = 180_000;
const LOOK_EVERY_MS = 25;

/** A worker in a process of its own, killed on disposal. */
export interface Worker extends AsyncDisposable {
  /** Its output so far. */
  readonly said: readonly Line[];
  /** Sends an order; resolves with true when it was carried out, or with false if the worker ended before. */
  order(order: Order): Promise<boolean>;
  kill(): void;
  /** Resolves when it has ended and its output was read: true if it exited by itself. */
  readonly ended: Promise<boolean>;
}

/** Starts a worker, which loads its modules and waits for orders. */
export function startWorker(): Worker {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--quiet", ...WORKER],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const said: Line[] = [];
  const waiting: ((isDone: boolean) => void)[] = [];
  const orders = child.stdin.getWriter();
  const heard = (async () => {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const text of lines) {
      const line = JSON.parse(text) as Line;
      said.push(line);
      if (line.done) waiting[line.done - 1]!(true);
    }
  })();
  const ended = Promise.all([child.status, heard]).then(async ([{ success }]) => {
    for (const resolve of waiting) resolve(false);
    await orders.abort().catch(() => {});
    return success;
  });
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended already
    }
  };
  return {
    said,
    ended,
    kill,
    order(order) {
      const isDone = new Promise<boolean>((resolve) => waiting.push(resolve));
      orders.write(new TextEncoder().encode(JSON.stringify(order) + "\n")).catch(() => {});
      return isDone;
    },
    async [Symbol.asyncDispose]() {
      kill();
      await ended;
    },
  };
}

/** Polls until a condition holds. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!await condition()) {
    assert.ok(performance.now() < deadline, `${what}, within ${TIMEOUT_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Opens a database beside its workers, or after them if it is a file; delivers nothing. */
export async function lookInto(
  db: string,
  { fetch, timeoutMs }: { fetch?: typeof globalThis.fetch; timeoutMs?: number } = {},
): Promise<Store & AsyncDisposable> {
  const { dbUrl, ...config } = configOf(db);
  const location = parseDatabaseUrl(dbUrl);
  const store = await openStore({
    ...config,
    location,
    fetch,
    clock: systemClock,
    ids: createIds(systemClock),
    logic: databaseLogic,
    ...(timeoutMs !== undefined && { remoteTimeoutMs: timeoutMs }),
  });
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

/** A row of the outbox. */
export interface Delivery {
  id: string;
  alert: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  lostClaims: number;
  error: string | null;
  isLeased: boolean;
}

/** All deliveries of the webhook channel, or of another one. */
export async function readOutbox(store: Store, channel = CHANNEL): Promise<Delivery[]> {
  const rows = await createQuery(store).select().from(tables.deliveries);
  return rows.filter((row) => row.channel === channel).map((row) => ({
    id: row.deliveryId,
    alert: row.subjectId,
    status: row.status,
    attempts: row.attempts,
    lostClaims: row.lostClaims,
    error: row.lastError,
    isLeased: row.leaseUntil !== null,
  }));
}

/** The alerts that fired, oldest first. */
export async function readAlerts(store: Store): Promise<(ModelAlert & { alertId: string })[]> {
  const { alerts } = tables;
  const rows = await createQuery(store).select().from(alerts).orderBy(alerts.position);
  return rows.map(({ alertId, ruleId, valueNanoUsd, runId, sessionId }) => ({
    alertId,
    ruleId,
    value: valueNanoUsd,
    runId,
    sessionId,
  }));
}

/** The ledger in the order of booking. */
export async function readLedger(store: Store): Promise<ModelCall[]> {
  const rows = await createQuery(store).select().from(tables.calls);
  const byId = new Map(rows.map((row) => [row.callId, toModelCall(row)]));
  const order = toObjects<{ call_id: string }>(
    await store.read({
      sql: "SELECT call_id FROM events WHERE type = 'cost.recorded' ORDER BY event_id",
    }),
  );
  assert.equal(order.length, byId.size, "each call is booked once, and is in the log once");
  return order.map(({ call_id }) => byId.get(call_id)!);
}

/** The alerts that the pure model derives from these calls, each in a commit of its own at the time of the call. */
export function replay(rules: readonly RuleRow[], calls: readonly ModelCall[]): ModelAlert[] {
  const states = rules.map((rule): RuleState => ({
    rule,
    firedAt: null,
    claims: new Set(),
    isOver: false,
  }));
  const booked: ModelCall[] = [];
  return calls.flatMap((call) => bookInModel(states, booked, [call], call.at));
}

/** The rules as stored in the database. */
export async function readRules(store: Store): Promise<RuleRow[]> {
  return await createQuery(store).select().from(tables.alertRules);
}
