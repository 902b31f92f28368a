/** `GET /costs` over a growing ledger. */
import type { Library, Subject, Task } from "../subject.ts";

interface Options {
  /** The end of the time span of the calls, milliseconds since the epoch. */
  end: number;
  /** The number of days over which they are spread. */
  days: number;
  /** The queries, by name. */
  queries: Record<string, string>;
}

const DAY_MS = 86_400_000;
const BATCH = 1_000;

/**
 * Keeps calls out of the rollups once they are booked, so that readers sum them. A version whose rollups are written
 * with every call has no such option and ignores it.
 */
const KEEP_TAIL = { rollUp: "never" };

export async function open(
  { openPurser }: Library,
  { end, days, queries }: Options,
): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const reopen = (options: object = {}) =>
    openPurser({ db: `${directory}/bench.db`, durability: "normal", env: {}, ...options });
  let purser = await reopen();
  let rows = 0;

  /** Books calls up to a size; added calls cover all of the days, in the order of their time. */
  const fill = async (size: number) => {
    const stepMs = days * DAY_MS / (size - rows);
    while (rows < size) {
      const calls = Array.from(
        { length: Math.min(BATCH, size - rows) },
        () => callAt(rows++, end - Math.floor((size - rows) * stepMs)),
      );
      const answer = await purser.app.request("/costs/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(calls),
      });
      if (answer.status !== 201) throw new Error(await answer.text());
      await answer.body?.cancel();
    }
  };
  const get = async (query: string) => {
    const answer = await purser.app.request(`/costs?${query}`);
    if (answer.status !== 200) throw new Error(await answer.text());
    return await answer.json();
  };
  return {
    tasks: {
      fill,
      async addTail(calls: number) {
        await purser.close();
        purser = await reopen(KEEP_TAIL);
        await fill(rows + calls);
      },
      ...Object.fromEntries(
        Object.entries(queries).map(([name, query]): [string, Task] => [name, () => get(query)]),
      ),
    },
    async close() {
      await purser.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

function callAt(n: number, at: number) {
  return {
    call_id: `call_${String(n).padStart(9, "0")}`,
    at: new Date(at).toISOString(),
    agent_id: `agent-${n % 20}`,
    session_id: `session-${Math.floor(n / 40)}`,
    run_id: `run-${Math.floor(n / 20)}`,
    step: 1 + n % 20,
    provider: "openai",
    model: `model-${n % 8}`,
    input_tokens: 1_000,
    output_tokens: 100,
    cost_usd: (1_000 + n % 1_000_000) / 1e9,
    duration_ms: 100,
  };
}
