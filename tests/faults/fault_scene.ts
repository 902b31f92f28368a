import assert from "node:assert/strict";
import { createRule, type RuleInput } from "../../src/alerts/mod.ts";
import { openCore } from "../../src/service/mod.ts";
import { type Store, toObjects } from "../../src/store/mod.ts";
import { checkAllEnded, checkBooks, checkSurvivors } from "../harness/check_books.ts";
import { COMMIT_TEXTS, type CuttingProxy, startCuttingProxy } from "../harness/cutting_proxy.ts";
import type { DatabaseServer, ServedDatabase, ServerKind } from "../harness/database_servers.ts";
import { checkDecisions, logDecisions } from "../harness/decision_log.ts";
import type { Postgres } from "../harness/postgres.ts";
import { seededRandom } from "../harness/random.ts";
import { type Disk, mountDisk } from "../harness/small_disk.ts";
import { configOf } from "./alert_worker.ts";
import { lookInto, readOutbox, until } from "./alert_workers.ts";
import type { Line, Place } from "./books_orders.ts";
import type { Stage } from "./fault_stage.ts";
import { leadTo, portOf } from "./other_server.ts";
import { type BooksWorker, checkPromises, countRunsOf, startBooksWorker } from "./books_workers.ts";

/** The kinds of places where processes keep books together. */
export const WHERES = ["file", "disk", "sqld", "postgres"] as const;
/** On an ordinary file, on a disk of a few MB that can be filled, or on a server behind a proxy. */
export type Where = typeof WHERES[number];

export const SERVERS = ["sqld", "postgres"] as const;

const WORKERS = { file: 3, disk: 2, sqld: 2, postgres: 2 } as const;
const LANES = 2;
/** Processes at work leave the machine some time, or most of it would go into books that are long to check. */
const PAUSE_MS = 200;
const DISK_BYTES = 48 * 1024 * 1024;
/** Long enough for a commit on a slow machine, and short enough for an outage to be felt. */
const TIMEOUT_MS = 3_000;

const once = { cooldown_seconds: 0, repeat: "once_per_window" } as const;
const RULES: RuleInput[] = [
  { name: "Run", threshold_type: "per_run_usd", threshold_usd: 0.000_1, severity: "info", ...once },
  { name: "Hour", threshold_type: "per_hour_usd", threshold_usd: 0.02, severity: "warning", ...once },
  { name: "Session", threshold_type: "per_session_usd", threshold_usd: 0.003, severity: "warning", ...once },
  { name: "Month", threshold_type: "per_month_usd", threshold_usd: 0.001, severity: "critical", ...once },
];

/** The counts of a scene whose invariants hold: nothing acknowledged is lost, nothing is in the books twice. */
export interface SceneCounts {
  calls: number;
  acknowledged: number;
  billed: number;
  alerts: number;
  webhooksAgain: number;
}

/** Copies files in a process of its own: one that closes a file loses the POSIX locks that its SQLite has on it. */
async function copyInChild(paths: string[], folder: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("cp", { args: [...paths, folder] }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** Processes that work on one database, while faults happen to them. */
export class FaultScene implements AsyncDisposable {
  readonly workers: BooksWorker[] = [];
  readonly random: () => number;
  disk: Disk | undefined;
  proxy: CuttingProxy | undefined;
  server: DatabaseServer | undefined;
  #stage: Stage;
  #seed: number;
  #folder: string;
  #place: Place = { db: "" };
  #database: ServedDatabase | undefined;
  #store: (Store & AsyncDisposable) | undefined;
  #all = new Map<BooksWorker, number>();
  #dead: string[] = [];
  #base = Date.now();
  #billBefore: number;
  #sentBefore: number;

  private constructor(readonly where: Where, seed: number, stage: Stage, folder: string) {
    this.#stage = stage;
    this.#seed = seed;
    this.#folder = folder;
    this.random = seededRandom(seed);
    this.#billBefore = stage.bill.size;
    this.#sentBefore = stage.receiver.received.length;
  }

  /** The server, where it is PostgreSQL. */
  get postgres(): Postgres | undefined {
    return this.where === "postgres" ? this.server as Postgres : undefined;
  }

  /** Opens a new database, and starts processes that work on it. */
  static async open(where: Where, seed: number, stage: Stage): Promise<FaultScene> {
    const folder = await Deno.makeTempDir({ prefix: `purser_faults_${where}_` });
    const scene = new FaultScene(where, seed, stage, folder);
    try {
      await scene.#setUp();
      for (let i = 0; i < WORKERS[where]; i++) scene.workers.push(await scene.#enter());
      await scene.work();
      return scene;
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #setUp(): Promise<void> {
    const more = {
      hook: this.#stage.receiver.url,
      provider: this.#stage.provider.baseUrls.compatible,
      timeoutMs: TIMEOUT_MS,
    };
    if (this.where === "sqld" || this.where === "postgres") {
      this.server = await this.#stage.server(this.where);
      this.#database = await this.server.createDatabase();
      this.proxy = await startCuttingProxy(portOf(this.server), COMMIT_TEXTS[this.where]);
      const db = this.#database.url.replace(/:\d+/, `:${this.proxy.port}`);
      this.#place = {
        db,
        ...(this.where === "sqld" && { host: `${this.#database.name}.localhost` }),
        ...more,
      };
    } else {
      const path = `${this.#folder}/books`;
      await Deno.mkdir(path);
      this.#place = { db: `${path}/books.db`, ...more };
    }
    // The books are made on an ordinary disk, and copied to the small one.
    const core = await openCore({ config: configOf(this.#address()), fetch: this.#database?.fetch });
    await logDecisions(core.store);
    for (const rule of RULES) await createRule(core, rule);
    await core.close();
    if (this.where === "disk") {
      const path = `${this.#folder}/books`;
      await Deno.rename(path, `${this.#folder}/made`);
      await Deno.mkdir(path);
      this.disk = await mountDisk(path, DISK_BYTES);
      await Deno.copyFile(`${this.#folder}/made/books.db`, `${this.disk.inside}/books.db`);
    } else {
      this.#store = await lookInto(this.#address(), { fetch: this.#database?.fetch });
    }
  }

  /** The address of the database for this process, past the proxy. */
  #address(): string {
    return this.#database?.url ?? this.#place.db;
  }

  async #enter(): Promise<BooksWorker> {
    const worker = (this.disk ? undefined : this.#stage.idle.pop()) ?? startBooksWorker(this.disk?.enter);
    this.#all.set(worker, worker.said.length);
    const name = `w${this.#seed % 100_000}x${this.#all.size}`;
    // A process started later applies another price.
    const outputUsdPerMillion = 2 + this.#all.size % 3;
    assert.ok(await worker.order({ open: { ...this.#place, name, outputUsdPerMillion } }), "it opens");
    return worker;
  }

  /** Lets processes work that are at rest. */
  async work(workers: readonly BooksWorker[] = this.workers): Promise<void> {
    for (const worker of workers) {
      const seed = Math.floor(this.random() * 1e9);
      const work = { seed, base: this.#base, lanes: LANES, pauseMs: PAUSE_MS, isAway: true, hasAll: true };
      void worker.order({ work });
    }
    await Promise.resolve();
  }

  /** A process by chance. */
  pick(): BooksWorker {
    return this.workers[Math.floor(this.random() * this.workers.length)]!;
  }

  /** Waits for a time by chance, so that faults happen at any moment. */
  async wait(longestMs = 80): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.random() * longestMs));
  }

  /** Waits until a process has refused an action, or reported something else; false if none does in time. */
  async untilSaid(
    workers: readonly BooksWorker[],
    isIt: (line: Line) => boolean,
    timeoutMs = 60_000,
  ): Promise<boolean> {
    const from = workers.map(({ said }) => said.length);
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      if (workers.some(({ said }, index) => said.slice(from[index]).some(isIt))) return true;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return false;
  }

  /** Kills a process (SIGKILL), and starts another in its place. */
  async replace(victims: readonly BooksWorker[]): Promise<void> {
    await Promise.all(victims.map((victim) => victim.kill()));
    for (const victim of victims) {
      this.#dead.push(...victim.instances().slice(-1));
      const worker = await this.#enter();
      this.workers[this.workers.indexOf(victim)] = worker;
      await this.work([worker]);
    }
    if (this.server || this.disk) return;
    const left = await countRunsOf(this.#store!, this.#dead);
    assert.equal(left, 0, "the next process ends the runs of those that were killed");
  }

  /**
   * Kills all processes, and checks a copy of the books as a power loss may leave them: the end of the log of commits never
   * reached the disk, from any byte on. The copy may have a commit that others don't see: it was complete, and its
   * process was killed before it could say so.
   */
  async losePower(): Promise<void> {
    const victims = [...this.workers];
    await Promise.all(victims.map((victim) => victim.kill()));
    const folder = await Deno.makeTempDir({ dir: this.#folder });
    await copyInChild(["", "-wal", "-shm"].map((end) => this.#place.db + end), folder);
    const { size } = await Deno.stat(`${folder}/books.db-wal`);
    // What a checkpoint has begun to copy was flushed before: SQLite's index of the log counts those frames.
    const index = new DataView((await Deno.readFile(`${folder}/books.db-shm`)).buffer);
    await Deno.remove(`${folder}/books.db-shm`);
    const copied = Math.max(index.getUint32(96, true), index.getUint32(128, true));
    const flushed = Math.min(size, 32 + copied * (24 + 4_096));
    await Deno.truncate(`${folder}/books.db-wal`, flushed + Math.floor(this.random() * (size - flushed)));
    await using copy = await lookInto(`${folder}/books.db`);
    await checkBooks(copy);
    assert.deepEqual((await copy.read({ sql: "PRAGMA integrity_check" })).rows, [["ok"]]);
    await this.replace(victims);
  }

  /** Leads connections to another server, without data; resolves with the function that leads them back. */
  async replaceServer({ hasDatabase }: { hasDatabase: boolean }): Promise<() => Promise<void>> {
    const other = await this.#stage.emptyServer(this.where as ServerKind["name"]);
    return await leadTo(other, this.proxy!, hasDatabase ? this.#database!.name : undefined);
  }

  /** Checks every invariant of the books, whatever has happened and while the processes work. */
  async check(): Promise<void> {
    if (this.disk) await this.rest();
    await using copy = this.disk ? await this.#copy() : undefined;
    const lines = this.#lines();
    const store = copy ?? this.#store!;
    await checkPromises(store, lines, this.#base);
    await checkSurvivors(store, { lines, channels: ["log", "ops"] });
    await this.#checkBill(store);
    if (this.disk) await this.work();
  }

  async rest(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.order({ rest: true })));
  }

  /** Each booked call is on the bill with these tokens, once; whatever was acknowledged is booked, see `checkPromises()`. */
  async #checkBill(store: Store): Promise<number> {
    const booked = toObjects<{ id: string; input: bigint; output: bigint }>(
      await store.read({
        sql: `SELECT response_id AS id, input_tokens AS input, output_tokens AS output FROM calls
          WHERE response_id IS NOT NULL AND adjusts IS NULL`,
      }),
    );
    for (const { id, input, output } of booked) {
      const billed = this.#stage.bill.get(id);
      assert.deepEqual(
        { inputTokens: Number(input), outputTokens: Number(output) },
        billed,
        `${id} is booked as it was billed`,
      );
    }
    assert.equal(new Set(booked.map(({ id }) => id)).size, booked.length, "no billed call is booked twice");
    return booked.length;
  }

  /** The books as they are on the small disk, which this process sees only as files. */
  async #copy(): Promise<Store & AsyncDisposable> {
    const folder = await Deno.makeTempDir({ dir: this.#folder });
    for (const name of this.disk!.names().filter((name) => /^books\.db(-wal)?$/.test(name))) {
      await Deno.copyFile(`${this.disk!.inside}/${name}`, `${folder}/${name}`);
    }
    return await lookInto(`${folder}/books.db`);
  }

  #lines(): Line[] {
    return [...this.#all].flatMap(([worker, before]) => worker.said.slice(before));
  }

  /** Ends the work, lets a last process recover what the dead ones have left, and checks that nothing remains. */
  async end(): Promise<SceneCounts> {
    await this.rest();
    for (const worker of this.workers) {
      assert.ok(await worker.order({ step: 0 }));
      assert.ok(await worker.order({ close: { sweeps: false } }), "it closes");
    }
    if (this.disk) await this.#leaveDisk();
    const store = this.#store!;
    await this.#endWaits(store);
    this.#stage.idle.push(...this.disk ? [] : this.workers.splice(1));
    for (const worker of this.workers.splice(0)) await worker.kill();
    const last = await this.#enter();
    await until("all is delivered", async () => {
      const { rows } = await store.read({ sql: "SELECT count(*) FROM deliveries WHERE status = 'pending'" });
      return rows[0]![0] === 0n;
    });
    assert.ok(await last.order({ close: { sweeps: true } }));
    this.#stage.idle.push(last);
    const counts = await this.#checkEnd(store);
    if (!this.server) {
      await store.close();
      this.#store = undefined;
      const names = [...Deno.readDirSync(`${this.#folder}/books`)].map(({ name }) => name);
      assert.deepEqual(names, ["books.db"], "nothing is left beside it");
    }
    return counts;
  }

  /** Continues on an ordinary disk. */
  async #leaveDisk(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    this.workers.splice(0);
    // With the locks and spools of killed processes, which the last process is to remove.
    for (const name of this.disk!.names()) {
      assert.match(name, /^books\.db(-instance-inst_\w+|-spool)?$/, "nothing else is left beside it");
      const [from, to] = [`${this.disk!.inside}/${name}`, `${this.#folder}/made/${name}`];
      if (!name.endsWith("-spool")) await Deno.copyFile(from, to);
      else {
        await Deno.mkdir(to);
        for (const spool of Deno.readDirSync(from)) {
          await Deno.copyFile(`${from}/${spool.name}`, `${to}/${spool.name}`);
        }
      }
    }
    await this.disk![Symbol.asyncDispose]();
    this.disk = undefined;
    await Deno.remove(`${this.#folder}/books`);
    await Deno.rename(`${this.#folder}/made`, `${this.#folder}/books`);
    this.#store = await lookInto(this.#place.db);
  }

  /** Makes the waits of deliveries end, and on a server the leases of dead processes, so that no test waits for them. */
  async #endWaits(store: Store): Promise<void> {
    await store.write([
      {
        // A process that closes in a fault leaves its lease, which ends by itself after three minutes.
        sql: `UPDATE deliveries SET due_at = 0, lost_claims = 0,
          lease_until = CASE WHEN lease_until IS NULL THEN NULL ELSE 1 END WHERE status = 'pending'`,
      },
      {
        // Those of killed processes are freed by the sweep, where a lock shows that they are dead.
        sql: `UPDATE reservations SET expires_at = 1 WHERE is_lost = 1 OR ?2 = 1
          OR substr(reservation_id, 1, instr(reservation_id, '/') - 1) NOT IN (SELECT value FROM json_each(?1))`,
        args: [JSON.stringify(this.#dead), this.server ? 1 : 0],
      },
      ...(this.server
        ? [
          "UPDATE runs SET lease_until = 1 WHERE status = 'running'",
          "UPDATE loose_generations SET since = 1",
        ].map((sql) => ({ sql }))
        : []),
    ]);
  }

  async #checkEnd(store: Store): Promise<SceneCounts> {
    const lines = this.#lines();
    const promised = await checkPromises(store, lines, this.#base);
    await checkSurvivors(store, { lines, channels: ["log", "ops"] });
    const booked = await this.#checkBill(store);
    const { decisions, alerts } = await checkDecisions(store, { hasClockSteps: true });
    const { rows } = await store.read({
      sql: "SELECT count(*), count(*) FILTER (WHERE adjusts IS NULL) FROM calls",
    });
    assert.equal(BigInt(decisions), rows[0]![0], "each call and adjustment is evaluated");
    await checkAllEnded(store);
    const outbox = await readOutbox(store, "ops");
    const received = this.#stage.receiver.received.slice(this.#sentBefore);
    const sent = new Set(received.map(({ webhookId }) => webhookId));
    for (const { id, status } of outbox) {
      assert.equal(status, "delivered");
      assert.ok(sent.has(id), `delivery ${id} has arrived`);
    }
    assert.equal(sent.size, alerts, "each alert arrives");
    return {
      calls: Number(rows[0]![1]),
      acknowledged: promised.calls + promised.reported,
      billed: this.#stage.bill.size - this.#billBefore,
      alerts,
      webhooksAgain: received.length - sent.size,
      ...(booked === 0 && { billed: 0 }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { idle } = this.#stage;
    await Promise.all(
      [...this.#all.keys()].map((worker) => idle.includes(worker) ? undefined : worker.kill()),
    );
    await this.#store?.close();
    await this.disk?.[Symbol.asyncDispose]();
    await this.proxy?.[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
