import { generateText, streamText } from "ai";
import { PurserError } from "../../src/kernel/errors.ts";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import { meter } from "../../src/runner/mod.ts";
import { type FakeProvider, type ProviderRequest, startFakeProvider } from "../harness/fake_provider.ts";
import { openHttpClient } from "../harness/http_client.ts";
import { realModel } from "../harness/metered_models.ts";
import { type RecordingTelemetry, recordingTelemetry } from "../harness/recording_telemetry.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "../harness/test_purser.ts";
import { allEnded, requestFor, sendTo } from "../gateway/requests.ts";

/** The API of a fake provider's answer for each of the AI SDK's. */
export const API_OF = {
  ...{ "openai-chat": "openai-chat", "openai-responses": "openai-responses", "anthropic": "anthropic" },
  ...{ "google": "google", "openai-compatible": "openai-chat" },
} as const satisfies Record<UsageApi, ProviderRequest["api"]>;

/** The model that every provider has here: $1 per million tokens in and $4 out, by a row of the config. */
export const MODEL = "priced";

const PROVIDERS = ["openai", "anthropic", "google", "local"] as const;
export const PRICES = PROVIDERS.map((provider) => ({
  ...{ provider, model: MODEL, input_usd_per_million: 1, output_usd_per_million: 4 },
}));

/** A Purser over a fake provider, whose reply to each call is the case's. */
export interface World extends AsyncDisposable {
  fake: FakeProvider;
  purser: TestPurser;
  telemetry: RecordingTelemetry;
}

export async function openWorld(options: TestOptions = {}): Promise<World> {
  const fake = await startFakeProvider();
  const telemetry = recordingTelemetry();
  const { config, ...rest } = options;
  const purser = await openTestPurser({
    fake,
    telemetry,
    ...rest,
    config: { prices: PRICES, ...config },
  });
  return {
    fake,
    purser,
    telemetry,
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

/** One call that a caller is to make. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Called with each part of a streamed answer as it has come. */
  onPart?(): void;
  maxOutputTokens?: number;
  model?: string;
  sessionId?: string;
  /** The text of an API key, for the gateway. */
  key?: string;
}

/** The outcome of a call as its caller sees it. */
export type Outcome = { isOk: true } | { isOk: false; error: string; code: string };

/** One way to make a model call; everything else about a call is the same for all of them. */
export interface Caller {
  name: string;
  kind: "run" | "meter" | "gateway";
  api: UsageApi;
  provider: string;
  isStreamed: boolean;
  call(world: World, options?: CallOptions): Promise<Outcome>;
}

/** The scopes of every call. */
export const SCOPES = { agentId: "tester", sessionId: "tester:1" } as const;

const WIRES: readonly { api: UsageApi; provider: string; agentModel: string }[] = [
  { api: "openai-chat", provider: "openai", agentModel: "openai.chat" },
  { api: "openai-responses", provider: "openai", agentModel: "openai" },
  { api: "anthropic", provider: "anthropic", agentModel: "anthropic" },
  { api: "google", provider: "google", agentModel: "google" },
  { api: "openai-compatible", provider: "local", agentModel: "local" },
];

const failure = (error: unknown): Outcome => ({
  isOk: false,
  error: String((error as Error)?.message ?? error),
  code: error instanceof PurserError ? error.code : (error as Error)?.name ?? "error",
});

async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    await work();
    return { isOk: true };
  } catch (error) {
    return failure(error);
  }
}

function runCaller({ api, provider, agentModel }: typeof WIRES[number], isStreamed: boolean): Caller {
  return {
    ...{ name: `run, ${api}, ${isStreamed ? "streamed" : "whole"}`, kind: "run", api, provider, isStreamed },
    call: (
      { purser },
      { signal, onPart, maxOutputTokens, model = MODEL, sessionId = SCOPES.sessionId } = {},
    ) =>
      outcomeOf(async () => {
        const agent = { model: `${agentModel}:${model}`, maxOutputTokens: maxOutputTokens ?? null };
        const { status } = await purser.run(agent, "Hi", {
          ...{ signal, sessionId },
          ...(isStreamed && { onPart: (part) => part.type === "text" && onPart?.() }),
        });
        if (status !== "completed") throw new Error(status);
      }),
  };
}

function meterCaller({ api, provider }: typeof WIRES[number], isStreamed: boolean): Caller {
  return {
    ...{
      name: `meter(), ${api}, ${isStreamed ? "streamed" : "whole"}`,
      kind: "meter",
      api,
      provider,
      isStreamed,
    },
    call: (
      { purser, fake, telemetry },
      { signal, onPart, maxOutputTokens, model = MODEL, sessionId = SCOPES.sessionId } = {},
    ) =>
      outcomeOf(async () => {
        const metered = meter(purser.core, realModel(fake, api, model, provider), {
          ...SCOPES,
          sessionId,
          provider,
        });
        const call = {
          ...{ model: metered, prompt: "Hi", maxRetries: 0, abortSignal: signal },
          ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        };
        if (!isStreamed) return await generateText(call);
        const stream = streamText({ ...call, onError() {} });
        for await (const part of stream.fullStream) {
          if (part.type === "text-delta") onPart?.();
          if (part.type === "error") throw part.error;
          if (part.type === "abort") throw new DOMException("aborted", "AbortError");
        }
      }).finally(() => ended(telemetry)),
  };
}

/** Waits until each span has ended: the AI SDK ends a cancelled stream without waiting for what it has cancelled. */
async function ended({ spans }: RecordingTelemetry): Promise<void> {
  while (spans.some(({ hasEnded }) => !hasEnded)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function gatewayCaller({ api, provider }: typeof WIRES[number], isStreamed: boolean): Caller {
  return {
    ...{
      name: `gateway, ${api}, ${isStreamed ? "streamed" : "whole"}`,
      kind: "gateway",
      api,
      provider,
      isStreamed,
    },
    async call(
      { purser },
      { key, signal, onPart, maxOutputTokens, model = MODEL, sessionId = SCOPES.sessionId } = {},
    ) {
      const { path, body } = requestFor({ api, provider, model }, { isStreamed, asksForUsage: true });
      const headers = { "x-purser-agent": SCOPES.agentId, "x-purser-session": sessionId };
      const limited = { ...body, ...outputLimit(api, maxOutputTokens) };
      try {
        const response = key === undefined
          ? await sendTo(purser, { path, body: limited }, { headers, signal })
          : await openHttpClient(purser).raw("POST", path, { key, body: limited, headers });
        const reader = response.body?.getReader();
        const cancel = () => void reader?.cancel().catch(() => {});
        signal?.addEventListener("abort", cancel, { once: true });
        let text = "";
        for (let part = await reader?.read(); part && !part.done; part = await reader!.read()) {
          text += new TextDecoder().decode(part.value);
          if (/Hel|"text"/.test(text)) onPart?.();
          signal?.throwIfAborted();
        }
        signal?.throwIfAborted();
        if (response.ok) return { isOk: true };
        return {
          isOk: false,
          error: text,
          code: String(response.headers.get("x-purser-error") ?? response.status),
        };
      } catch (error) {
        return failure(error);
      } finally {
        await allEnded(purser);
      }
    },
  };
}

function outputLimit(api: UsageApi, limit: number | undefined): Record<string, unknown> {
  if (limit === undefined) return {};
  switch (api) {
    case "openai-responses":
      return { max_output_tokens: limit };
    case "google":
      return { generationConfig: { maxOutputTokens: limit } };
    case "openai-chat":
      return { max_completion_tokens: limit };
    default:
      return { max_tokens: limit };
  }
}

/** All callers, each over each wire, whole and streamed. */
export const CALLERS: readonly Caller[] = [runCaller, meterCaller, gatewayCaller].flatMap((make) =>
  WIRES.flatMap((wire) => [false, true].map((isStreamed) => make(wire, isStreamed)))
);
