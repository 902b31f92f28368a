/** Disk space of calls once the WAL is written back into the file. */
import { tool } from "ai";
import { z } from "zod";
import type { Library, Subject } from "../subject.ts";
import { openBare } from "./bare_database.ts";
import { instantModel, PRICES } from "./models.ts";

interface Options {
  steps: number;
}

const PROMPT = [{ role: "user" as const, content: [{ type: "text" as const, text: "What is the answer?" }] }];
const CALLS_A_SESSION = 20;
const BATCH = 1_000;

export async function open({ openPurser }: Library, { steps }: Options): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const tools = { answer: tool({ inputSchema: z.object({}), execute: () => "42" }) };
  let databases = 0;

  /** Books calls in a new database, and returns the bytes that the last `count` of them have added. */
  const grow = (book: (purser: Purser, count: number) => Promise<void>) => async (count: number) => {
    const db = `${directory}/${databases++}.db`;
    const reach = async (count: number) => {
      const purser = await openPurser({
        db,
        durability: "normal",
        env: {},
        models: { "bench:loop": instantModel(steps) },
        tools,
        prices: PRICES,
      });
      await book(purser, count);
      await purser.close();
      return bytesOf(db);
    };
    const before = await reach(BATCH);
    return (await reach(count) - before) / count;
  };
  type Purser = Awaited<ReturnType<typeof openPurser>>;

  let sessions = 0;
  let events = 0;
  const agent = { name: "loop", model: "bench:loop", tools: ["answer"], max_steps: steps };
  return {
    tasks: {
      metered: grow(async (purser, count) => {
        const once = instantModel(1);
        for (let call = 0; call < count; call += CALLS_A_SESSION) {
          const model = purser.meter(once, { agentId: "bench", sessionId: `metered-${sessions++}` });
          for (let n = 0; n < CALLS_A_SESSION; n++) await model.doGenerate({ prompt: PROMPT });
        }
      }),
      steps: grow(async (purser, count) => {
        for (let step = 0; step < count; step += steps) await purser.runAgent(agent, "Go");
      }),
      reportedLoose: grow((purser, count) => report(purser, count, () => ({}))),
      reported: grow((purser, count) =>
        report(purser, count, () => {
          const session = Math.floor(events / CALLS_A_SESSION);
          return {
            session_id: `session-${session}`,
            run_id: `run-${session}`,
            step: events % CALLS_A_SESSION,
          };
        })
      ),
    },
    close: () => Deno.remove(directory, { recursive: true }),
  };

  async function report(purser: Purser, count: number, place: () => object): Promise<void> {
    for (let sent = 0; sent < count; sent += BATCH) {
      const calls = Array.from({ length: BATCH }, () => ({
        ...place(),
        call_id: `call-${String(events++).padStart(9, "0")}`,
        at: new Date().toISOString(),
        agent_id: `agent-${events % 20}`,
        provider: "openai",
        model: "gpt-4o-mini",
        input_tokens: 1_000,
        output_tokens: 100,
      }));
      const answer = await purser.app.request("/costs/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(calls),
      });
      if (answer.status !== 201) throw new Error(await answer.text());
    }
  }
}

/** Returns the bytes of a closed database that are in use: all pages but the free ones. */
function bytesOf(path: string): number {
  const database = openBare(path, "normal");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const read = (pragma: string) => Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get()!)[0]);
  const bytes = (read("page_count") - read("freelist_count")) * read("page_size");
  database.close();
  return bytes;
}
