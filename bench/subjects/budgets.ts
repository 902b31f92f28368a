/** Steps of runs and metered calls in databases with no budget, with budgets that match, and with many that don't. */
import { tool } from "ai";
import { z } from "zod";
import { DatabaseSync } from "node:sqlite";
import type { Library, Subject, Task } from "../subject.ts";
import { instantModel, PRICES } from "./models.ts";

interface Options {
  /** The numbers of budgets; the first five match every call. */
  counts: number[];
  /** The numbers of budgets by tag, tree, key and agent; the first two match every call of the tag. */
  ofSubjects: number[];
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

export async function open(
  { openPurser }: Library,
  { counts, ofSubjects, steps, atOnce }: Options,
): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const tasks: Record<string, Task> = {};
  const opened: Awaited<ReturnType<typeof openPurser>>[] = [];
  const databases = [
    ...counts.map((count) => ({ name: String(count), count, add: addBudgets })),
    ...ofSubjects.map((count) => ({ name: `${count}OfSubjects`, count, add: addBudgetsOfSubjects })),
  ];
  for (const { name, count, add } of databases) {
    const db = `${directory}/budgets_${name}.db`;
    const options = {
      db,
      durability: "normal" as const,
      env: {},
      prices: PRICES,
      models: { "bench:loop": instantModel(steps) },
      tools: { answer: tool({ inputSchema: z.object({}), execute: () => "42" }) },
    };
    await (await openPurser(options)).close(); // creates the tables
    add(db, count);
    const purser = await openPurser(options);
    opened.push(purser);
    const once = instantModel(1);
    const metered = purser.meter(once, { agentId: "bench", sessionId: "bench", tags: { customer: "acme" } });
    const agent = { name: "bench", model: "bench:loop", tools: ["answer"], max_steps: steps };
    tasks[`run${name}`] = () => purser.runAgent(agent, "Go");
    tasks[`call${name}`] = () => metered.doGenerate({ prompt: PROMPT });
    tasks[`atOnce${name}`] = () =>
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

const OF_SUBJECTS = [{ per: "month", scope: "by tag:customer acme" }, {
  per: "tree",
  scope: "",
  shape: "tree",
}];

/** The beginnings of the scopes of other budgets, and of the counters of other trees. */
const OTHERS = ["by tag:customer other_", "by tree other_", "key key_", "other_"];

/**
 * Adds budgets that no call reaches: of a tag and of each tree, which match the calls, and others by tag, tree, key and agent; and as
 * many counters of trees.
 */
function addBudgetsOfSubjects(path: string, count: number): void {
  const database = new DatabaseSync(path);
  database.exec(
    `INSERT INTO spend_shapes (shape, has_agent, has_session, has_key, has_tree, has_model, has_provider, has_source,
    tag_1, is_filled) VALUES ('tag:customer', 0, 0, 0, 0, 0, 0, 0, 'customer', 1), ('tree', 0, 0, 0, 1, 0, 0, 0, NULL, 1);
    INSERT INTO spend_counters (kind, scope, start, whole_usd, rest_nano_usd, first_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    SELECT 'lifetime', 'by tree other_' || i, 0, 1, 0, 0 FROM n`,
  );
  insertBudgets(
    database,
    count,
    (index) => OF_SUBJECTS[index] ?? { per: "month", scope: OTHERS[index % OTHERS.length]! + index },
  );
}

/** Adds budgets that no call reaches: five that match the calls, and others of other agents. */
function addBudgets(path: string, count: number): void {
  insertBudgets(
    new DatabaseSync(path),
    count,
    (index) => MATCHING[index] ?? { per: "day", scope: `other_${index}` },
  );
}

function insertBudgets(
  database: DatabaseSync,
  count: number,
  budget: (index: number) => { per: string; scope: string; shape?: string },
): void {
  const insert = database.prepare(
    `INSERT INTO budgets (budget_id, name, limit_nano_usd, per, scope, shape, mode, action, warn_at,
    allow_unpriced, enabled, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, 'stop', 'refuse', '[0.8,1]', 0, 1, 0, 0)`,
  );
  database.exec("BEGIN");
  for (let index = 0; index < count; index++) {
    const { per, scope, shape = null } = budget(index);
    insert.run(`bud_${index}`, `Budget ${index}`, 10n ** 17n, per, scope, shape);
  }
  database.exec("COMMIT");
  database.close();
}
