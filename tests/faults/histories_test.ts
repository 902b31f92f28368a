import assert from "node:assert/strict";
import { openCore } from "../../src/service/mod.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import type { Store } from "../../src/store/mod.ts";
import { checkBooks } from "../harness/check_books.ts";
import { type DatabaseServer, SERVER_KINDS, type ServerKind } from "../harness/database_servers.ts";
import { checkDecisions, type DecisionCounts, logDecisions } from "../harness/decision_log.ts";
import { seededRandom } from "../harness/random.ts";
import { configOf } from "./alert_worker.ts";
import type { Place } from "./books_orders.ts";
import { type BooksWorker, checkPromises, countRunsOf, startBooksWorker } from "./books_workers.ts";

/**
 * Random histories of real processes: bookings, roll-ups, changes of rules, kills, restarts, outages of the server, and
 * readers, all at once.
 */

/** The number of histories; `PURSER_HISTORIES=100` for a thorough run. */
const HISTORIES = Number(Deno.env.get("PURSER_HISTORIES") ?? 1);
/** The seed of the first history; each later one has the next. `PURSER_HISTORIES=1` replays a single one. */
const SEED = Number(Deno.env.get("PURSER_SEED") ?? Math.floor(Math.random() * 1e9));
/** One of so many histories is on a server, by turns of each kind. */
const REMOTE_EVERY = 3;
const SERVERS = SERVER_KINDS.filter(({ ignore }) => !ignore);
const LONGEST_LIFE_MS = 600;
const LONGEST_OUTAGE_MS = 800;

interface Totals extends DecisionCounts {
  kills: number;
  outages: number;
  calls: number;
  looks: number;
}

Deno.test(`${HISTORIES} random histories of two to four processes keep consistent books, and alerts fire as in the model`, async (t) => {
  console.log(`      PURSER_SEED=${SEED}`);
  const totals: Totals = {
    kills: 0,
    outages: 0,
    calls: 0,
    looks: 0,
    decisions: 0,
    quiet: 0,
    alerts: 0,
    changes: 0,
  };
  const idle: BooksWorker[] = [];
  await using stack = new AsyncDisposableStack();
  const running = new Map<ServerKind, DatabaseServer>();
  const serverOf = async (kind: ServerKind) => {
    if (!running.has(kind)) running.set(kind, stack.use(await kind.start(true)));
    return running.get(kind)!;
  };
  try {
    for (let number = 0; number < HISTORIES; number++) {
      const seed = SEED + number;
      const kind = seed % REMOTE_EVERY === 0 ? SERVERS[seed / REMOTE_EVERY % SERVERS.length] : undefined;
      const isGood = await t.step(
        `history ${seed} on ${kind?.name ?? "a file"}`,
        async () =>
          kind
            ? await playRemote(seed, await serverOf(kind), idle, totals)
            : await playOnFile(seed, idle, totals),
      );
      assert.ok(isGood, `PURSER_SEED=${seed} PURSER_HISTORIES=1 begins the same way`);
    }
  } finally {
    await Promise.all(idle.map((worker) => worker.kill()));
  }
  console.log(`      ${JSON.stringify(totals)}`);
});

async function playOnFile(seed: number, idle: BooksWorker[], totals: Totals): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser_history_" });
  try {
    await play(seed, { db: `${folder}/books.db` }, undefined, idle, totals);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(names, ["books.db"], "nothing is left beside the file");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function playRemote(
  seed: number,
  server: DatabaseServer,
  idle: BooksWorker[],
  totals: Totals,
): Promise<void> {
  const { name, url, fetch } = await server.createDatabase();
  const place = { db: url, ...(fetch && { host: `${name}.localhost` }) };
  await play(seed, place, { fetch, server }, idle, totals);
}

async function play(
  seed: number,
  place: Place,
  remote: { fetch?: typeof globalThis.fetch; server: DatabaseServer } | undefined,
  idle: BooksWorker[],
  totals: Totals,
): Promise<void> {
  const random = seededRandom(seed);
  const pick = (count: number) => Math.floor(random() * count);
  const base = Date.now();
  const core = await openCore({ config: configOf(place.db), fetch: remote?.fetch, isReadOnly: true });
  await logDecisions(core.store);
  const all: BooksWorker[] = [];
  const before = new Map<BooksWorker, number>();
  const enter = async () => {
    const worker = idle.pop() ?? startBooksWorker();
    all.push(worker);
    before.set(worker, worker.said.length);
    assert.ok(await worker.order({ open: { ...place, name: `w${seed}-${all.length}` } }));
    return worker;
  };
  const reading = new AbortController();
  const looks = readOn(core.store, reading.signal, remote !== undefined);
  looks.catch(() => {}); // reported below
  try {
    const present = await Promise.all(Array.from({ length: 2 + pick(3) }, enter));
    const dead: string[] = [];
    for (let round = 2 + pick(3); round > 0; round--) {
      const outage = remote && pick(2) === 0 ? ["freeze", "kill"][pick(2)] : undefined;
      const working = present.map((worker) =>
        worker.order({
          work: {
            ...{ seed: pick(1e9), base, lanes: 1 + pick(4), count: 5 + pick(25) },
            ...{ changesRules: true, isAway: outage !== undefined },
          },
        })
      );
      if (pick(2) === 0) {
        const victim = pick(present.length);
        await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_LIFE_MS));
        dead.push(present[victim]!.instances().at(-1)!);
        await present[victim]!.kill();
        totals.kills++;
        present[victim] = await enter();
      }
      if (remote && outage) {
        await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_LIFE_MS));
        if (outage === "kill") await remote.server.kill();
        else await remote.server.pause();
        await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_OUTAGE_MS));
        if (outage === "kill") await remote.server.restart();
        else remote.server.resume();
        totals.outages++;
      }
      await Promise.all(working);
      if (!remote) {
        assert.equal(
          await countRunsOf(core.store, dead),
          0,
          "runs of the killed are ended by the next process",
        );
      }
    }
    reading.abort();
    totals.looks += await looks;
    for (const [index, worker] of present.entries()) {
      assert.ok(await worker.order({ close: { sweeps: index === present.length - 1 } }));
      idle.push(worker);
    }
    const lines = all.flatMap((worker) => worker.said.slice(before.get(worker)));
    const { calls } = await checkPromises(core.store, lines, base);
    const counts = await checkDecisions(core.store);
    totals.calls += calls;
    for (const key of ["decisions", "quiet", "alerts", "changes"] as const) totals[key] += counts[key];
    if (!remote) {
      assert.deepEqual((await core.store.read({ sql: "PRAGMA integrity_check" })).rows, [["ok"]]);
    }
  } finally {
    reading.abort();
    await Promise.all(all.map((worker) => idle.includes(worker) ? undefined : worker.kill()));
    await core.close();
  }
}

/** Reads repeatedly from this process; returns the number of reads. */
async function readOn(store: Store, signal: AbortSignal, mayBeAway: boolean): Promise<number> {
  let looks = 0;
  while (!signal.aborted) {
    try {
      await checkBooks(store);
      looks++;
    } catch (error) {
      if (!(mayBeAway && error instanceof PurserError && error.code === "unavailable")) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  return looks;
}
