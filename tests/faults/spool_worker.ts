/**
 * A process that makes calls through its gateway, a metered model and runs, over a database that is taken away from it. It
 * reads an order of JSON a line, and prints a line for each outcome. Its deadlines are shorter than usual.
 */
import { generateText } from "ai";
import { createApp } from "../../src/http/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { messageOf } from "../../src/kernel/errors.ts";
import { meter, runAgent } from "../../src/runner/mod.ts";
import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import { openCore } from "../../src/service/mod.ts";
import { fastClock } from "../harness/fast_clock.ts";
import { TextLineStream } from "../harness/text_lines.ts";

export const WAYS = ["gateway", "stream", "meter"] as const;
export type Way = typeof WAYS[number] | "run";

export interface SpoolOrder {
  way: Way;
  calls: number;
}

/** The outcome of one call: what its caller has got. */
export interface SpoolOutcome {
  text: string | null;
  error: string | null;
}

export const MODEL = "gpt-4o-mini";
const MAX_TOKENS = 60;
const PROMPT = "Hi";

/** USD for a million tokens. The bound of a call is some 1,160 tokens in and 60 out, about 0.0024 USD. */
const PRICES = [{
  provider: "openai",
  model: MODEL,
  input_usd_per_million: 1,
  output_usd_per_million: 20,
}];
/** The usage that the provider reports of each call: 0.0023 USD. */
export const USAGE = { inputTokens: 1_100, outputTokens: 60 };
export const COST_NANO_USD = 2_300_000n;
/** Room for four calls, not for five. */
export const LIMIT_USD = 0.01;

/** Works until it is told to end, or killed. */
export async function work(db: string, baseUrl: string, spoolFolder: string | undefined): Promise<void> {
  const env = { OPENAI_API_KEY: "not-a-key", OPENAI_BASE_URL: baseUrl };
  const config = { dbUrl: db, durability: "full" as const, remoteTimeoutMs: 1_000, maxBodyBytes: 1_000_000 };
  const core = await openCore({
    config: { ...config, environment: "test", prices: PRICES, ...(spoolFolder && { spoolFolder }) },
    env,
    // A server that doesn't answer is given up after remoteTimeoutMs of real time.
    clock: db.includes("://") ? systemClock : fastClock(20),
  });
  await core.prices.ready();
  const app = await createApp(core);
  const { model, provider } = await core.models.resolve(`openai.chat:${MODEL}`);
  const metered = meter(core, model, { agentId: "metered", provider });
  const agent = {
    ...AGENT_DEFAULTS,
    agentId: "runner",
    model: `openai.chat:${MODEL}`,
    maxOutputTokens: MAX_TOKENS,
  };
  const ask = async (stream: boolean) => {
    const messages = [{ role: "user", content: PROMPT }];
    const response = await app.request("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({
        model: MODEL,
        max_completion_tokens: MAX_TOKENS,
        messages,
        ...(stream && { stream }),
      }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(text);
    return text;
  };
  const make: Record<Way, () => Promise<string>> = {
    gateway: () => ask(false),
    stream: () => ask(true),
    meter: async () =>
      (await generateText({ model: metered, prompt: PROMPT, maxOutputTokens: MAX_TOKENS, maxRetries: 0 }))
        .text,
    run: async () => (await runAgent(core, { agent, input: PROMPT })).output ?? "",
  };
  console.log("ready");
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const { way, calls }: SpoolOrder = JSON.parse(line);
    for (let call = 0; call < calls; call++) {
      void make[way]().then(
        (text): SpoolOutcome => ({ text, error: null }),
        (error): SpoolOutcome => ({ text: null, error: messageOf(error) }),
      ).then((outcome) => console.log(JSON.stringify(outcome)));
    }
  }
  await core.close();
  console.log("closed");
}
