/**
 * What booking adds to a model call of the AI SDK, and what a step of a 20-step tool loop costs in all.
 * The model answers at once, from memory, so all that is left is the SDK, Purser and the disk.
 */
import { generateText, isStepCount, tool } from "ai";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { LanguageModelV4, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { openPurser } from "../src/mod.ts";
import { ms, ratio, report, timeInTurn, us } from "./measure.ts";

const STEPS = 20;
const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

/** Calls a tool in every step but each `steps`th, in which it answers. */
function instantModel(steps: number): LanguageModelV4 {
  let calls = 0;
  const doGenerate = (): Promise<LanguageModelV4GenerateResult> => {
    const isLast = ++calls % steps === 0;
    return Promise.resolve({
      content: isLast
        ? [{ type: "text", text: "42" }]
        : [{ type: "tool-call", toolCallId: `call_${calls}`, toolName: "answer", input: "{}" }],
      finishReason: { unified: isLast ? "stop" : "tool-calls", raw: undefined },
      usage,
      warnings: [],
    });
  };
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "instant",
    supportedUrls: {},
    doGenerate,
    doStream: () => Promise.reject(new Error("not measured")),
  };
}

/** One row into one table, one commit: what the disk and the driver take by themselves. */
function bareCommit(path: string, synchronous: string): () => void {
  const db = new DatabaseSync(path);
  const pragma = (text: string) => db.prepare(`PRAGMA ${text}`).all();
  pragma("locking_mode = EXCLUSIVE");
  pragma("journal_mode = WAL");
  pragma(`synchronous = ${synchronous}`);
  db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)");
  const insert = db.prepare("INSERT INTO t (text) VALUES (?)");
  return () => {
    db.exec("BEGIN IMMEDIATE");
    insert.run("a row of about the size of a call in the ledger".repeat(4));
    db.exec("COMMIT");
  };
}

for (const durability of ["full", "normal"] as const) {
  const directory = await Deno.makeTempDir();
  const once = instantModel(1);
  const loop = instantModel(STEPS);
  const tools = { answer: tool({ inputSchema: z.object({}), execute: () => "42" }) };
  const purser = await openPurser({
    db: `${directory}/bench.db`,
    durability,
    env: {},
    models: { "bench:loop": loop },
    tools,
    prices: ["instant", "loop"].map((model) => ({
      provider: "bench",
      model,
      input_usd_per_million: 1,
      output_usd_per_million: 2,
    })),
  });
  const metered = purser.meter(once, { agentId: "bench", sessionId: "bench" });
  const agent = { name: "loop", model: "bench:loop", tools: ["answer"], max_steps: STEPS };
  const call = await timeInTurn({
    disk: bareCommit(`${directory}/floor.db`, durability),
    bare: () => generateText({ model: once, prompt: "What is the answer?" }),
    booked: () => generateText({ model: metered, prompt: "What is the answer?" }),
  }, { runs: 500 });
  const step = await timeInTurn({
    bare: () => generateText({ model: loop, prompt: "Go", tools, stopWhen: isStepCount(STEPS) }),
    purser: () => purser.runAgent(agent, "Go"),
    budgeted: () => purser.runAgent({ ...agent, name: "budgeted", cost_budget_usd: 1 }, "Go"),
  }, { runs: 60 });
  report(`Booking a call, local file, synchronous=${durability.toUpperCase()}, medians`, [
    ["one row, one commit (the disk and the driver alone)", us(call.disk)],
    ["a call of the bare AI SDK", us(call.bare)],
    ["the same call, booked", us(call.booked)],
    [
      "added by booking",
      `${us(call.booked - call.bare)}, ${ratio(call.booked - call.bare, call.disk)} the disk alone`,
    ],
    [`a step of a ${STEPS}-step tool loop, bare AI SDK`, ms(step.bare / STEPS)],
    [`a step of a ${STEPS}-step run`, ms(step.purser / STEPS)],
    [`a step of a ${STEPS}-step run with a budget`, ms(step.budgeted / STEPS)],
  ]);
  await purser.close();
  await Deno.remove(directory, { recursive: true });
}
