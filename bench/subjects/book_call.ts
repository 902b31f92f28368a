/** Calls and runs with a model that answers at once: by the AI SDK alone, and with every call booked. */
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Library, Subject } from "../subject.ts";
import { openBare, pathFor, type Storage } from "./bare_database.ts";
import { instantModel, PRICES } from "./models.ts";

interface Options {
  storage: Storage;
  steps: number;
  atOnce: number;
}

export async function open(
  { openPurser }: Library,
  { storage, steps, atOnce }: Options,
): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const once = instantModel(1);
  const loop = instantModel(steps);
  const tools = { answer: tool({ inputSchema: z.object({}), execute: () => "42" }) };
  const purser = await openPurser({
    db: pathFor(storage, directory, "bench"),
    durability: storage === "memory" ? "full" : storage,
    env: {},
    models: { "bench:loop": loop, "bench:once": once },
    tools,
    prices: PRICES,
  });
  const metered = purser.meter(once, { agentId: "bench", sessionId: "bench" });
  const agent = { name: "loop", model: "bench:loop", tools: ["answer"], max_steps: steps };
  const budgeted = { ...agent, name: "budgeted", cost_budget_usd: 1 };
  const single = { name: "once", model: "bench:once" };

  const call = (model: LanguageModelV4) => generateText({ model, prompt: "What is the answer?" });
  const callAtOnce = (model: LanguageModelV4) =>
    Promise.all(Array.from({ length: atOnce }, () => call(model)));

  const floor = openBare(pathFor(storage, directory, "floor"), storage);
  floor.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)");
  const insert = floor.prepare("INSERT INTO t (text) VALUES (?)");
  const row = "a row of about the size of a call in the ledger".repeat(4);

  return {
    tasks: {
      commit() {
        floor.exec("BEGIN IMMEDIATE");
        insert.run(row);
        floor.exec("COMMIT");
      },
      sdkCall: () => call(once),
      sdkCallsAtOnce: () => callAtOnce(once),
      sdkLoop: () => generateText({ model: loop, prompt: "Go", tools, stopWhen: isStepCount(steps) }),
      call: () => call(metered),
      callsAtOnce: () => callAtOnce(metered),
      run: () => purser.runAgent(agent, "Go"),
      runWithBudget: () => purser.runAgent(budgeted, "Go"),
      runOfOneStep: () => purser.runAgent(single, "Go"),
    },
    async close() {
      floor.close();
      await purser.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
