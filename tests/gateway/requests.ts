import type { Fixture } from "../fixtures/providers/mod.ts";
import type { TestPurser } from "../harness/test_purser.ts";

/** A request as a client of a wire sends it. */
export interface WireRequest {
  path: string;
  body: Record<string, unknown>;
}

/** The first segment of the gateway's paths for a provider. */
const PREFIXES: Record<string, string> = { openai: "openai", anthropic: "anthropic", google: "gemini" };

/** Returns a client's request for a fixture's model. Chat streams ask for their usage only with `asksForUsage`. */
export function requestFor(
  { api, provider, model }: Pick<Fixture, "api" | "provider" | "model">,
  { isStreamed, asksForUsage = false }: { isStreamed: boolean; asksForUsage?: boolean },
): WireRequest {
  const prefix = `/${PREFIXES[provider] ?? provider}`;
  const messages = [{ role: "user", content: "What is 2+2?" }];
  const stream = isStreamed ? { stream: true } : {};
  switch (api) {
    case "openai-chat":
    case "openai-compatible":
      return {
        path: `${prefix}/v1/chat/completions`,
        body: {
          model,
          messages,
          ...stream,
          ...(isStreamed && asksForUsage && { stream_options: { include_usage: true } }),
        },
      };
    case "openai-responses":
      return { path: `${prefix}/v1/responses`, body: { model, input: "What is 2+2?", ...stream } };
    case "anthropic":
      return { path: `${prefix}/v1/messages`, body: { model, max_tokens: 64, messages, ...stream } };
    case "google": {
      const verb = isStreamed ? "streamGenerateContent?alt=sse" : "generateContent";
      return {
        path: `${prefix}/v1beta/models/${model}:${verb}`,
        body: { contents: [{ role: "user", parts: [{ text: "What is 2+2?" }] }] },
      };
    }
  }
}

/** Sends a request to the gateway of a Purser. */
export async function sendTo(
  { app }: Pick<TestPurser, "app">,
  { path, body }: { path: string; body: unknown },
  { headers, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return await app.request(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal,
  });
}

/** A call as the ledger has it. */
export interface BookedCall {
  agent: string;
  session: string | null;
  run: string | null;
  model: string;
  input: number;
  output: number;
  cost: bigint | null;
  isEstimated: boolean;
  source: string;
}

/** Reads the ledger, oldest first. */
export async function readCalls({ core }: Pick<TestPurser, "core">): Promise<BookedCall[]> {
  const { rows } = await core.store.read({
    sql:
      `SELECT agent_id, session_id, run_id, model, input_tokens, output_tokens, cost_nano_usd, is_estimated, source
      FROM calls ORDER BY position`,
  });
  return rows.map(([agent, session, run, model, input, output, cost, isEstimated, source]) => ({
    agent: String(agent),
    session: session as string | null,
    run: run as string | null,
    model: String(model),
    input: Number(input),
    output: Number(output),
    cost: cost as bigint | null,
    isEstimated: Number(isEstimated) === 1,
    source: String(source),
  }));
}

/** Waits until no call is with a provider, but for `others`. */
export async function allEnded(
  { core }: Pick<TestPurser, "core">,
  others: ReadonlySet<string> = new Set(),
): Promise<void> {
  const calls = [...core.gateway.calls].filter(([id]) => !others.has(id));
  await Promise.all(calls.map(([, { ended }]) => ended));
}
