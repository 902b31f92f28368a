import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { anthropicAnswer, openaiChatAnswer, openaiResponsesAnswer } from "../fixtures/providers/mod.ts";
import { denoCacheVariables } from "../harness/cache_variables.ts";
import { newPlace, type Place, startServer } from "../harness/cli_process.ts";
import { inProcess as purser } from "../harness/in_process.ts";
import { allBlocks, readDocument } from "../harness/documents.ts";
import {
  type FakeProvider,
  type ProviderRequest,
  type Reply,
  startFakeProvider,
} from "../harness/fake_provider.ts";
import { isThorough } from "../harness/thorough.ts";

/**
 * Real SDKs from npm, with their own instrumentation and exporter, export to a real server: each billed call is booked once. The
 * programs are those of docs/agents.md, with more calls before their end.
 */

/** A program of the document that exports. */
interface Sender {
  /** The words before its block. */
  title: string;
  /** Its packages beside those of every sender. */
  imports?: Readonly<Record<string, string>>;
  /** It runs only in a thorough run: its packages are large, and locked apart. */
  isThorough?: true;
  /** The code of further calls, before its end. */
  more: string;
  /** The number of calls that it makes. */
  calls: number;
  /** The agents of its calls. */
  agents: readonly string[];
  /** The counts that its instrumentation leaves out. */
  lacks?: readonly (keyof Counts)[];
}

interface Counts {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

const packageModule = (name: string) => import.meta.resolve(`../packages/${name}.ts`);
const { imports: OWN } = JSON.parse(await readDocument("deno.json")) as { imports: Record<string, string> };
const LARGE = JSON.parse(await readDocument("tests/packages/thorough.json")) as Record<string, string>;
const some = (from: Record<string, string>, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, from[name]!]));

const EVERY = {
  ...some(OWN, "@opentelemetry/api", "zod"),
  "@opentelemetry/sdk-node": packageModule("opentelemetry_sdk_node"),
};

const AI_SDK_CALLS = `
const helper = { functionId: "helper" };
const tools = {
  calculator: tool({
    inputSchema: z.object({ expression: z.string() }),
    execute: async () =>
      (await generateText({ model: openai("gpt-6-luna"), prompt: "Help.", TELEMETRY: { isEnabled: true, ...helper } })).text,
  }),
};
const worker = { isEnabled: true, functionId: "worker" };
for (const model of [openai("gpt-6-luna"), openai.chat("gpt-6-luna")]) {
  const result = streamText({ model, prompt: "Calculate 2+2.", tools, stopWhen: STOP, TELEMETRY: worker });
  await result.consumeStream();
}
await generateText({ model: openai("gpt-6-luna"), prompt: "Retry.", TELEMETRY: worker });
`;
const aiSdkCalls = (telemetry: string, stop: string) =>
  AI_SDK_CALLS.replaceAll("TELEMETRY", telemetry).replaceAll("STOP", `${stop}(3)`) +
  `import { ${stop}, streamText, tool } from "ai";\nimport { z } from "zod";\n`;

const SENDERS: readonly Sender[] = [
  {
    title: "OpenTelemetry alone",
    imports: { openai: packageModule("openai") },
    more: `await Promise.all([ask("One."), ask("Two.")]);
await tracer.startActiveSpan("invoke_agent planner", { attributes: {
  "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "gen_ai.usage.input_tokens": 9999,
} }, async (span) => { await ask("Three."); span.end(); });`,
    calls: 4,
    agents: ["planner", "sender"],
  },
  {
    title: "AI SDK 7",
    imports: {
      ...some(OWN, "ai", "@ai-sdk/openai", "@ai-sdk/anthropic"),
      "@ai-sdk/otel": packageModule("ai_sdk_otel"),
    },
    more: aiSdkCalls("telemetry", "isStepCount") + `
import { anthropic } from "@ai-sdk/anthropic";
await streamText({ model: anthropic("claude-haiku-4-5"), prompt: "Hello.", telemetry: worker }).consumeStream();`,
    calls: 9,
    agents: ["greeter", "helper", "worker"],
    lacks: ["reasoning"],
  },
  {
    title: "AI SDK 6",
    isThorough: true,
    imports: { ai: LARGE.ai_6!, "@ai-sdk/openai": LARGE.ai_6_openai! },
    more: aiSdkCalls("experimental_telemetry", "stepCountIs"),
    calls: 8,
    agents: ["greeter", "helper", "worker"],
  },
  {
    title: "OpenAI Agents",
    isThorough: true,
    more: `
import { z } from "zod";
const helper = new agents.Agent({ name: "helper", model: "gpt-6-luna", instructions: "Help." });
const calculator = agents.tool({
  name: "calculator",
  description: "Calculates",
  parameters: z.object({ expression: z.string() }),
  execute: async () => (await agents.run(helper, "Help.")).finalOutput,
});
const worker = new agents.Agent({ name: "worker", model: "gpt-6-luna", instructions: "Work.", tools: [calculator] });
await agents.run(worker, "Calculate 2+2.");
const streamed = await agents.run(worker, "Calculate 2+2.", { stream: true });
for await (const _ of streamed);
await streamed.completed;`,
    calls: 7,
    agents: ["greeter", "helper", "worker"],
  },
  {
    title: "LangChain and LangGraph",
    isThorough: true,
    more: `
import { tool } from "langchain";
import { z } from "zod";
const calculator = tool(async () => "4", {
  name: "calculator",
  description: "Calculates",
  schema: z.object({ expression: z.string() }),
});
const worker = createAgent({ name: "worker", model, tools: [calculator] });
await worker.invoke({ messages: [{ role: "user", content: "Calculate 2+2." }] });
for await (const _ of await model.stream("Hello."));`,
    calls: 4,
    agents: ["greeter", "sender", "worker"],
  },
  {
    title: "Mastra",
    isThorough: true,
    more: `
import "@opentelemetry/exporter-logs-otlp-proto";
import "@opentelemetry/exporter-trace-otlp-proto";
const streamed = await mastra.getAgent("greeter").stream("Hello.");
await streamed.text;`,
    calls: 2,
    agents: ["greeter"],
  },
];

/** Answers as providers do, each with an id and counts of its own. */
function startProvider(): Promise<FakeProvider & { billed: Counts[] }> {
  const billed: Counts[] = [];
  let hasFailed = false;
  const reply = ({ api, body, model }: ProviderRequest): Reply => {
    const asked = JSON.stringify(body);
    if (asked.includes("Retry.") && !hasFailed) {
      hasFailed = true;
      return { status: 429, headers: { "retry-after-ms": "1" } };
    }
    const n = billed.length + 1;
    const isFirst = /Calculate/.test(asked) && !/"(function_call_output|tool_call_id)"/.test(asked);
    const said = isFirst
      ? { model, toolCall: { id: `call_${n}`, name: "calculator", input: { expression: "2+2" } } }
      : { model, text: `Answer ${n}` };
    const counts = {
      input: 1_000 * n + 7,
      output: 100 * n + 3,
      cacheRead: 10 * n + 1,
      cacheWrite: 0,
      reasoning: n,
    };
    const id = `${n}abcdef${"0".repeat(20)}`;
    const unique = <Answer>(answer: Answer): Answer =>
      JSON.parse(JSON.stringify(answer).replaceAll(/(resp_|msg_|chatcmpl-)[\w]{20,}/g, `$1${id}`));
    if (api === "anthropic") {
      const written = { ...counts, cacheWrite: 20 * n, reasoning: 0 };
      billed.push(written);
      return {
        answer: unique(anthropicAnswer({
          ...said,
          usage: {
            input_tokens: written.input - written.cacheRead - written.cacheWrite,
            cache_read_input_tokens: written.cacheRead,
            cache_creation_input_tokens: written.cacheWrite,
            output_tokens: written.output,
          },
        })),
      };
    }
    billed.push(counts);
    const total_tokens = counts.input + counts.output;
    const [cached, reasoning] = [{ cached_tokens: counts.cacheRead }, { reasoning_tokens: counts.reasoning }];
    return {
      answer: unique(
        api === "openai-chat"
          ? openaiChatAnswer({
            ...said,
            usage: {
              prompt_tokens: counts.input,
              prompt_tokens_details: cached,
              completion_tokens: counts.output,
              completion_tokens_details: reasoning,
              total_tokens,
            },
          })
          : openaiResponsesAnswer({
            ...said,
            usage: {
              input_tokens: counts.input,
              input_tokens_details: cached,
              output_tokens: counts.output,
              output_tokens_details: reasoning,
              total_tokens,
            },
          }),
      ),
    };
  };
  return startFakeProvider(reply).then((fake) => Object.assign(fake, { billed }));
}

/** The program of the document below some words. */
async function programOf({ title, more }: Sender): Promise<string> {
  const document = await readDocument("docs/agents.md");
  const [block] = allBlocks(document.slice(document.indexOf(`\n**${title}**`)));
  assert.ok(block?.language === "js", title);
  const end = /^await (sdk|mastra)\.shutdown\(\);$/m;
  assert.match(block.code, end);
  return block.code.replace(end, (line) => `${more}\n${line}`);
}

/** Runs a program with the variables that `purser otlp env node` prints, and a key for exports only. */
async function send(place: Place, fake: FakeProvider, serverUrl: string, key: string, sender: Sender) {
  const printed = await purser(place, ["otlp", "env", "node", "--server", serverUrl, "--json"]);
  const variables = JSON.parse(printed.out.replaceAll("$PURSER_API_KEY", key)).variables;
  await Deno.writeTextFile(`${place.folder}/program.mjs`, await programOf(sender));
  const imports = { ...sender.isThorough ? LARGE : EVERY, ...sender.imports };
  await Deno.writeTextFile(`${place.folder}/imports.json`, JSON.stringify({ imports }));
  const { PATH = "", HOME = "" } = place.env;
  const lock = sender.isThorough ? "../packages/thorough.lock" : "../deno.lock";
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--cached-only", "--no-config"],
      ...["--lock", fileURLToPath(new URL(lock, import.meta.url)), "--frozen"],
      ...["--import-map", `${place.folder}/imports.json`],
      ...[
        "--allow-env",
        "--allow-read",
        "--allow-sys",
        "--allow-net=127.0.0.1",
        `${place.folder}/program.mjs`,
      ],
    ],
    clearEnv: true,
    env: {
      ...{ PATH, HOME, ...denoCacheVariables() },
      ...{ OPENAI_API_KEY: "sk-fake", OPENAI_BASE_URL: fake.baseUrls.openai },
      ...{ ANTHROPIC_API_KEY: "sk-fake", ANTHROPIC_BASE_URL: fake.baseUrls.anthropic },
      ...{ OTEL_SERVICE_NAME: "sender", PURSER_API_KEY: key },
      ...variables,
    },
  }).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  return text.decode(stdout);
}

for (const sender of SENDERS) {
  const { title, calls, agents, lacks = [] } = sender;
  Deno.test({
    name: `${title}: each billed call is booked once, with its counts, and no sum of its agents`,
    ignore: sender.isThorough && !isThorough,
    async fn() {
      await using fake = await startProvider();
      await using place = await newPlace();
      const key = (await purser(place, ["keys", "add", "sdk", "--scope", "report"])).out.trim();
      {
        await using server = await startServer(place);
        await send(place, fake, server.url, key, sender);
      }
      const sources = await purser(place, ["sources"]);
      assert.match(sources.out, /^otlp .* active$/m);
      const costs = await purser(place, ["cost", "--by", "agent"]);
      assert.match(costs.out, /From logs or telemetry alone, .*: \d calls? of .*; purser sources says/);
      using database = new DatabaseSync(`${place.folder}/books.db`, { readOnly: true });
      const booked = database.prepare(
        `SELECT input_tokens AS input, output_tokens AS output, cache_read_tokens AS cacheRead,
  cache_write_tokens AS cacheWrite, reasoning_tokens AS reasoning FROM calls ORDER BY input_tokens`,
      ).all();
      const told = fake.billed.map((counts) => ({
        ...counts,
        ...Object.fromEntries(lacks.map((name) => [name, 0])),
      }));
      assert.deepEqual(booked.map((row) => ({ ...row })), told);
      assert.equal(fake.billed.length, calls);
      const of = database.prepare("SELECT DISTINCT agent_id, source FROM calls ORDER BY 1").all();
      assert.deepEqual(
        of.map((row) => ({ ...row })),
        agents.map((agent_id) => ({ agent_id, source: "otlp" })),
      );
      const faults = database.prepare("SELECT * FROM otlp_faults WHERE kind <> 'duplicate'").all();
      assert.deepEqual(faults, []);
    },
  });
}
