/** Scenes of the spool: processes that make calls over a ledger that can be taken away, and a provider that counts its bill. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/kernel/clock.ts";
import type { Store } from "../../src/store/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { type FakeProvider, startFakeProvider } from "../harness/fake_provider.ts";
import { bundleWorker } from "../harness/shared_build.ts";
import { createShared, type SharedWhere } from "../harness/database_servers.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { openDatabase } from "./budget_calls_worker.ts";
import { COST_NANO_USD, LIMIT_USD, type SpoolOrder, type SpoolOutcome, USAGE } from "./spool_worker.ts";

const WORKER = await bundleWorker("spool");

/** A process of `spool_worker.ts`. */
export interface SpoolWorker extends AsyncDisposable {
  /** Orders calls; their outcomes come as they are known. */
  order(order: SpoolOrder): Promise<void>;
  /** Resolves with the outcome of the next call that has ended. */
  next(): Promise<SpoolOutcome>;
  /** Kills it (SIGKILL). */
  kill(): Promise<void>;
  /** Lets it end by itself. */
  end(): Promise<void>;
}

/** A ledger, its provider, and the processes on them. */
export interface SpoolScene extends AsyncDisposable {
  db: string;
  store: Store;
  provider: FakeProvider;
  folder: string;
  start(prefix?: readonly string[]): Promise<SpoolWorker>;
  /** Lets the provider answer what it has got, and what it will get. */
  answer(): void;
  /** Resolves once the provider has got so many calls in all. */
  billed(calls: number): Promise<void>;
  /** Takes the ledger away: another process holds its write lock, or its server is frozen. */
  takeAway(): Promise<void>;
  giveBack(): void;
}

export async function openScene(where: SharedWhere): Promise<SpoolScene> {
  const stack = new AsyncDisposableStack();
  const { db, folder, server } = stack.use(await createShared(where, true));
  const answering = Promise.withResolvers<void>();
  const provider = stack.use(
    await startFakeProvider(async (request) => {
      await answering.promise;
      return answerTo(request, { text: "Hello", usage: USAGE });
    }),
  );
  const store = await openDatabase(db);
  stack.defer(() => store.close());
  await addDay(store);
  let lock: DatabaseSync | undefined;
  return {
    db,
    store,
    provider,
    folder,
    async start(prefix = []) {
      const worker = await startWorker([db, provider.baseUrls.openai, ...server ? [folder] : []], prefix);
      return stack.use(worker);
    },
    answer: () => answering.resolve(),
    billed: (calls) => until(() => provider.calls >= calls),
    async takeAway() {
      if (server) return await server.pause();
      lock = new DatabaseSync(db);
      lock.exec("BEGIN IMMEDIATE");
    },
    giveBack() {
      if (server) return server.resume();
      lock?.exec("ROLLBACK");
      lock?.close();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Adds the strict budget of a day, which warns at four fifths. */
export async function addDay(store: Store): Promise<void> {
  await store.write([{
    sql:
      `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at, allow_unpriced, enabled,
      created_at, updated_at) VALUES ('bud_day', 'Day', ?, 'day', '', 'strict', 'refuse', '[0.8, 1]', 0, 1, 0, 0)`,
    args: [BigInt(LIMIT_USD * 1e9)],
  }]);
}

export async function startWorker(
  args: readonly string[],
  prefix: readonly string[] = [],
): Promise<SpoolWorker> {
  const [program, ...rest] = [
    ...prefix,
    Deno.execPath(),
    "run",
    "-RWENS",
    "--quiet",
    ...WORKER,
    ...args,
  ];
  const child = new Deno.Command(program!, { args: rest, stdin: "piped", stdout: "piped" }).spawn();
  const orders = child.stdin.getWriter();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const line = async () => {
    const { value } = await lines.read();
    assert.ok(value !== undefined, "the worker has ended");
    return value;
  };
  assert.equal(await line(), "ready");
  const ended = child.status;
  const kill = async () => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended already
    }
    await ended;
    await Promise.all([lines.cancel(), orders.abort()]).catch(() => {});
  };
  return {
    order: (order) => orders.write(new TextEncoder().encode(JSON.stringify(order) + "\n")),
    next: async () => JSON.parse(await line()),
    kill,
    async end() {
      await orders.close();
      while (await line() !== "closed");
      await ended;
    },
    [Symbol.asyncDispose]: kill,
  };
}

/** Asks again and again, for half a minute; no test depends on how long it takes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!await isSo()) {
    assert.ok(performance.now() < deadline, "it has not happened in time");
    await systemClock.sleep(25);
  }
}

/** Waits until so many calls are in the ledger, and checks that each is there once, with its cost and its reservation settled. */
export async function checkBooked(store: Store, calls: number): Promise<void> {
  const count = async () => (await store.read({ sql: "SELECT count(*) FROM calls" })).rows[0]![0];
  await until(async () => await count() === BigInt(calls));
  const { rows } = await store.read({
    sql: `SELECT count(DISTINCT call_id), sum(cost_nano_usd), max(cost_nano_usd),
      (SELECT count(*) FROM events WHERE type = 'cost.recorded' AND session_id IS NULL),
      (SELECT count(*) FROM reservations), max(at) FROM calls`,
  });
  const [ids, spent, dearest, , reserved] = rows[0] as bigint[];
  assert.deepEqual([ids, spent, dearest], [BigInt(calls), BigInt(calls) * COST_NANO_USD, COST_NANO_USD]);
  assert.ok(spent! <= BigInt(LIMIT_USD * 1e9), `${spent} is over the limit`);
  assert.equal(reserved, 0n, "nothing stays reserved for it");
}

/** The files in which calls wait. */
export function spoolFiles(folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory) found.push(...spoolFiles(`${folder}/${entry.name}`));
    else if (entry.name.endsWith(".spool")) found.push(entry.name);
  }
  return found;
}
