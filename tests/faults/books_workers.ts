import assert from "node:assert/strict";
import { type Store, toObjects } from "../../src/store/mod.ts";
import { checkBooks } from "../harness/check_books.ts";
import { reportOf } from "../harness/reported_calls.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { type Line, type Order, REFUSED, STRICT_LIMIT_NANO_USD } from "./books_orders.ts";
import { bundleWorker } from "../harness/shared_build.ts";

const WORKER = await bundleWorker("books");

/** A process of `books_worker.ts`, killed on disposal. */
export interface BooksWorker extends AsyncDisposable {
  readonly pid: number;
  readonly said: readonly Line[];
  /** Sends an order; resolves with true when it was carried out, or with false if the process ended before. */
  order(order: Order): Promise<boolean>;
  /** Kills it at once, or stops it between steps. Resolves when it has ended and its output was read. */
  kill(): Promise<void>;
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** The instances of the databases that it opened. */
  instances(): string[];
}

/** Errors of a file that has reached the size limit of its process, in place of the signal that would end it. */
const WITHOUT_SIGNAL = ["sh", "-c", `trap "" XFSZ; exec "$@"`, "sh"];

/** Starts a worker, which loads its modules and waits for orders; `enter` is the command that leads to its disk. */
export function startBooksWorker(enter: readonly string[] = []): BooksWorker {
  const [command, ...args] = [
    ...[...enter, ...(Deno.build.os === "windows" ? [] : WITHOUT_SIGNAL)],
    ...[Deno.execPath(), "run", "-RWENS", "--quiet", ...WORKER],
  ];
  const child = new Deno.Command(command!, { args, ...{ stdin: "piped", stdout: "piped" } }).spawn();
  const said: Line[] = [];
  const waiting: ((isDone: boolean) => void)[] = [];
  const orders = child.stdin.getWriter();
  let hasEnded = false;
  const heard = (async () => {
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
    for await (const text of lines) {
      if (!text.endsWith("}")) continue; // it was killed while it wrote the line
      const line = JSON.parse(text) as Line;
      said.push(line);
      if (line.done) waiting[line.done - 1]!(true);
    }
  })();
  const ended = Promise.all([child.status, heard]).then(async () => {
    hasEnded = true;
    for (const resolve of waiting) resolve(false);
    await orders.abort().catch(() => {});
  });
  const signal = (name: Deno.Signal) => {
    if (!hasEnded) child.kill(name);
  };
  const kill = async () => {
    try {
      signal("SIGKILL");
    } catch {
      // it has ended already
    }
    await ended;
  };
  return {
    pid: child.pid,
    said,
    kill,
    signal,
    order(order) {
      if (hasEnded) return Promise.resolve(false);
      const isDone = new Promise<boolean>((resolve) => waiting.push(resolve));
      orders.write(new TextEncoder().encode(JSON.stringify(order) + "\n")).catch(() => {});
      return isDone;
    },
    instances: () => said.flatMap(({ instance }) => instance ?? []),
    [Symbol.asyncDispose]: kill,
  };
}

/** The acknowledgements of all workers of a database. */
export interface Promised {
  calls: number;
  reported: number;
  runs: number;
  alerts: number;
}

/** Fails if an acknowledgement is missing from the books, anything is in them twice, or anything must not be there. */
export async function checkPromises(store: Store, lines: readonly Line[], base: number): Promise<Promised> {
  assert.deepEqual(lines.flatMap(({ trouble }) => trouble ?? []), [], "no operation fails");
  const ledger = await checkBooks(store);
  const all = async <T>(sql: string) => toObjects<T>(await store.read({ sql }));
  const costs = new Map(
    (await all<{ call_id: string; cost: bigint }>(
      "SELECT call_id, cost_nano_usd AS cost FROM calls WHERE adjusts IS NULL",
    )).map((
      { call_id, cost },
    ) => [call_id, Number(cost)]),
  );
  const promised = { calls: 0, reported: 0, runs: 0, alerts: 0 };
  const published = new Map<string, number>();
  for (const { call, reported = [] } of lines) {
    if (call) {
      assert.equal(
        costs.get(call.id),
        Math.round(call.cost * 1e9),
        `${call.id} was published: it is in the ledger`,
      );
      published.set(call.id, (published.get(call.id) ?? 0) + 1);
      promised.calls++;
    }
    for (const id of reported) assert.ok(ledger.has(id), `${id} was acknowledged: it is in the ledger`);
    promised.reported += reported.length;
  }
  assert.deepEqual([...published].filter(([, times]) => times > 1), [], "a call is published once");

  const parts = new Map<string, number>();
  for (const id of ledger) {
    assert.ok(!id.startsWith(REFUSED), `${id} came with a call that was refused`);
    const [, request, size] = /^(\S+)\.\d+of(\d+)$/.exec(id) ?? [];
    if (request) parts.set(`${request} of ${size}`, (parts.get(`${request} of ${size}`) ?? 0) + 1);
    if (request || id.startsWith("shared-")) {
      assert.equal(
        costs.get(id),
        Math.round(reportOf(id, base).costUsd * 1e9),
        `${id} costs what was reported`,
      );
    }
  }
  for (const [request, count] of parts) {
    assert.equal(count, Number(request.split(" of ")[1]), `report ${request}: all or none`);
  }

  const runs = new Map(
    (await all<
      { run_id: string; status: string; steps: bigint; cost: bigint; is_repriced: bigint | null }
    >(
      `SELECT r.run_id, r.status, r.steps, coalesce(c.cost, 0) AS cost, c.is_repriced FROM runs r LEFT JOIN (
        SELECT run_id, sum(cost_nano_usd) AS cost, max(CASE WHEN adjusts IS NOT NULL THEN 1 ELSE 0 END) AS is_repriced FROM calls
        GROUP BY run_id) c USING (run_id)`,
    )).map((row) => [row.run_id, row]),
  );
  for (const { run, alert } of lines) {
    if (alert) promised.alerts++;
    if (!run) continue;
    const row = runs.get(run.id);
    const stored = row && { status: row.status, steps: Number(row.steps), cost: Number(row.cost) };
    const { status, steps } = run;
    // A repricing changes the cost of a run, also after its end.
    const cost = row?.is_repriced === 1n ? Number(row.cost) : Math.round(run.cost * 1e9);
    assert.deepEqual(
      stored,
      { status, steps, cost },
      `run ${run.id} is as it was reported`,
    );
    promised.runs++;
  }
  const overspent = await all(
    `SELECT run_id FROM run_usage WHERE run_id LIKE 'strict-%' GROUP BY run_id
    HAVING sum(whole_usd) * 1000000000 + sum(rest_nano_usd) > ${STRICT_LIMIT_NANO_USD}`,
  );
  assert.deepEqual(overspent, [], "a strict budget holds over all processes");
  return promised;
}

/** Runs in progress whose processes have ended. */
export async function countRunsOf(store: Store, instances: readonly string[]): Promise<number> {
  const { rows } = await store.read({
    sql:
      "SELECT count(*) FROM runs WHERE status = 'running' AND instance_id IN (SELECT value FROM json_each(?))",
    args: [JSON.stringify(instances)],
  });
  return Number(rows[0]![0]);
}
