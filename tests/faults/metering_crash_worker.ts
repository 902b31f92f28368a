/**
 * A program whose metered model, outside of any run, never answers its second call: it is killed then. The first one breaks
 * off without a count, so that what it may have cost stays charged. Prints a line once the second call is being made.
 */
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { openPurser } from "../../src/mod.ts";

export const AGENT_ID = "metered";
export const PRICES = [
  { provider: "local", model: "priced", input_usd_per_million: 1, output_usd_per_million: 4 },
];

/** Works until it is told to end, or killed. */
export async function work(db: string): Promise<void> {
  let calls = 0;
  const never = Promise.withResolvers<never>();
  const aborter = new AbortController();
  const model = new MockLanguageModelV4({
    provider: "local",
    modelId: "priced",
    doGenerate() {
      if (++calls === 1) aborter.abort(new Error("enough"));
      else console.log("calling");
      return calls === 1 ? Promise.reject(aborter.signal.reason) : never.promise;
    },
  });
  const purser = await openPurser({ db, env: {}, prices: PRICES });
  const metered = purser.meter(model, { agentId: AGENT_ID });
  const call = { model: metered, prompt: "Hello", maxOutputTokens: 50, maxRetries: 0 };
  await generateText({ ...call, abortSignal: aborter.signal }).catch(() => {});
  setInterval(() => {}, 60_000); // as a connection to a provider would keep it running
  await generateText(call);
}
