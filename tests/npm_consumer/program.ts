/**
 * A program on Node that embeds Purser over a database file: it prints one line of JSON with the results, and
 * keeps the file until its standard input ends.
 */
import { generateText, type LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import {
  BudgetExceededError,
  type CostEvent,
  createAlertEvaluator,
  createDispatcher,
  openPurser,
  readSnapshot,
  type RunResult,
  writeSnapshot,
} from "purser";
import { defineChannel } from "purser/channels";
import { tool } from "ai";
import { z } from "zod";

const directory = process.argv[2]!;

// The pager's requests; it closes each connection after its response, so that none stays open.
const pages: unknown[] = [];
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  pages.push(JSON.parse(body));
  response.setHeader("connection", "close").end("ok");
});
await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
const { port } = receiver.address() as AddressInfo;

const poet = new MockLanguageModelV4({
  provider: "acme",
  modelId: "poet-1",
  doGenerate: {
    content: [{ type: "text", text: "Ships sail, books balance." }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: 120, noCache: 120, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 8, text: 8, reasoning: 0 },
    },
    warnings: [],
  },
});

const purser = await openPurser({
  db: `${directory}/purser.db`,
  prices: [{ provider: "acme", model: "poet-1", input_usd_per_million: 1, output_usd_per_million: 4 }],
  tools: {
    count_words: tool({
      description: "Counts words",
      inputSchema: z.object({ text: z.string().optional() }),
      execute: ({ text }) => ({ words: text?.split(" ").length ?? 0 }),
    }),
  },
  plugins: [fileURLToPath(new URL("pager.ts", import.meta.url))],
  allowPrivateNetworks: ["127.0.0.0/8"],
  alerts: createAlertEvaluator({
    dispatcher: createDispatcher([
      { kind: "pager", url: `http://127.0.0.1:${port}/v1/page`, key: "k3ysecretsecret" },
    ]),
    rules: [{
      name: "Costly run",
      threshold_type: "per_run_usd",
      threshold_usd: 0.00001,
      severity: "critical",
      repeat: "once_per_window",
      agent_id: "helper",
    }],
  }),
});

const costs: CostEvent[] = [];
purser.bus.subscribe(({ type, payload }) => {
  if (type === "cost.recorded") costs.push(payload as unknown as CostEvent);
});

const helper = { name: "helper", model: "demo:loop", tools: ["count_words"] };
const run: RunResult = await purser.runAgent(helper, "2 times", { sessionId: "ses_npm" });

const counter = { name: "counter", model: "demo:loop", tools: ["calculator"], cost_budget_usd: 0.0005 };
const stop = await purser.runAgent(counter, "Continue for ever").then(
  () => "it was not stopped",
  (error: unknown) => error instanceof BudgetExceededError ? error.details : String(error),
);

const model: LanguageModel = purser.meter(poet, { agentId: "newsletter", runId: "run_issue_42" });
const { text } = await generateText({ model, prompt: "A line for the newsletter" });

const snapshot = await purser.exportSession("helper", "ses_npm", {
  tags: { from: "node" },
  withEvents: true,
});
await writeSnapshot(snapshot, `${directory}/session.json.gz`);
const read = await readSnapshot(`${directory}/session.json.gz`);
const other = await openPurser({ db: `${directory}/other/purser.db` });
const imported = await other.importSession(read);
await other.close();

const damaged = await readSnapshot(
  (async function* () {
    yield (await import("node:fs")).readFileSync(`${directory}/session.json.gz`).subarray(0, 200);
  })(),
).then(() => "it was read", (error: unknown) => (error as Error).message);

const { kind } = defineChannel({
  kind: "nothing",
  summary: "Sends nothing",
  settings: z.object({}),
  open: () => ({ send: () => ({ ok: true }) }),
});

const app = await (await purser.app.request("/costs?group_by=agent")).json();
console.log(JSON.stringify({ run, stop, text, calls: costs.length, imported, damaged, kind, app }));

for await (const _ of process.stdin); // until the test has asked from outside
await purser.close();
receiver.close();
console.log(JSON.stringify({ pages }));
