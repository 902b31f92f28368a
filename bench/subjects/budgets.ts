/** Steps of runs and metered calls in databases with no budget, with budgets that match, and with many that don't. */
import { tool } from "ai";
import { z } from "zod";
import { DatabaseSync } from "node:sqlite";
import type { Library, Subject, Task } from "../subject.ts";
import { instantModel, PRICES } from "./models.ts";

interface Options {
  /** The numbers of budgets; the first five match every call. */
  counts: number[];
  steps: number;
  atOnce: number;
}

const PROMPT = [{ role: "user" as const, content: [{ type: "text" as const, text: "What is the answer?" }] }];

const MATCHING = [
  { per: "day", scope: "" },
  { per: "month", scope: "" },
  { per: "day", scope: "bench" },
  { per: "session", scope: "" },
  { per: "run", scope: "bench" },
];

export async function open({ openPurser }: Library, { counts, steps, atOnce }: Options): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const tasks: Record<string, Task> = {};
  const opened: Awaited<ReturnType<typeof openPurser>>[] = [];
  for (const count of counts) {
    const db = `${directory}/budgets_${count}.db`;
    const options = {
      db,
      durability: "normal" as const,
      env: {},
      prices: PRICES,
      models: { "bench:loop": instantModel(steps) },
      tools: { answer: tool({ inputSchema: z.object({}), execute: () => "42" }) },
    };
    await (await openPurser(options)).close(); // creates the tables
    addBudgets(db, count);
    const purser = await openPurser(options);
    opened.push(purser);
    const once = instantModel(1);
    const metered = purser.meter(once, { agentId: "bench", sessionId: "bench" });
    const agent = { name: "bench", model: "bench:loop", tools: ["answer"], max_steps: steps };
    tasks[`run${count}`] = () => purser.runAgent(agent, "Go");
    tasks[`call${count}`] = () => metered.doGenerate({ prompt: PROMPT });
    tasks[`atOnce${count}`] = () =>
      Promise.all(Array.from({ length: atOnce }, () => metered.doGenerate({ prompt: PROMPT })));
  }
  return {
    tasks,
    async close() {
      for (const purser of opened) await purser.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** Adds budgets that no call reaches: five that match the calls, and others of other agents. */
function addBudgets(path: string, count: number): void {
  const database = new DatabaseSync(path);
  const insert = database.prepare(
    `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, mode, action, warn_at,
    allow_unpriced, enabled, created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'stop', 'refuse', '[0.8,1]', 0, 1, 0, 0)`,
  );
  database.exec("BEGIN");
  for (let index = 0; index < count; index++) {
    const { per, scope } = MATCHING[index] ?? { per: "day", scope: `other_${index}` };
    insert.run(`bud_${index}`, `Budget ${index}`, 10n ** 17n, per, scope);
  }
  database.exec("COMMIT");
  database.close();
}
