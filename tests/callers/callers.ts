import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { sightingToWire } from "../../src/cli/commands/import/import_books.ts";
import pi from "../../src/ingest/logs/pi.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { viewerOf } from "../../src/ledger/mod.ts";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import { meter } from "../../src/runner/mod.ts";
import { allEnded, requestFor, sendTo } from "../gateway/requests.ts";
import { openHttpClient } from "../harness/http_client.ts";
import { realModel } from "../harness/metered_models.ts";
import type { RecordingTelemetry } from "../harness/recording_telemetry.ts";
import { readLogs, toLines } from "../ingest/read_logs.ts";
import { MODEL, SCOPES, type World } from "./world.ts";

/** One call that a caller is to make. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Called with each part of a streamed answer as it has come. */
  onPart?(): void;
  maxOutputTokens?: number;
  /** Of a run or a metered model; default: a short one. */
  prompt?: string;
  /** True if the model may call `calculator`, after which a run or a metered model calls it again. */
  hasTool?: boolean;
  model?: string;
  sessionId?: string;
  tags?: Record<string, string>;
  /** The text of an API key, for the gateway; and its id, for a run. `meter()` has none. */
  key?: string;
  keyId?: string;
  /** The id and the time of a call that is reported or imported; default: a new id, and now. */
  callId?: string;
  at?: number;
}

/** The outcome of a call as its caller sees it. */
export type Outcome = { isOk: true } | { isOk: false; error: string; code: string };

/** One way to make a model call, or to report one; everything else about a call is the same for all of them. */
export interface Caller {
  name: string;
  kind: "run" | "meter" | "gateway" | "report" | "log";
  api: UsageApi;
  provider: string;
  isStreamed: boolean;
  call(world: World, options?: CallOptions): Promise<Outcome>;
}

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
    name: `run, ${api}, ${isStreamed ? "streamed" : "whole"}`,
    kind: "run",
    api,
    provider,
    isStreamed,
    call: (
      { purser },
      {
        signal,
        onPart,
        maxOutputTokens,
        prompt = "Hi",
        hasTool,
        tags,
        keyId,
        model = MODEL,
        sessionId = SCOPES.sessionId,
      } = {},
    ) =>
      outcomeOf(async () => {
        const agent = {
          model: `${agentModel}:${model}`,
          maxOutputTokens: maxOutputTokens ?? null,
          tools: hasTool ? ["calculator"] : [],
        };
        const { status } = await purser.run(agent, prompt, {
          signal,
          sessionId,
          tags,
          viewer: viewerOf({ keyId }),
          ...(isStreamed && { onPart: (part) => part.type === "text" && onPart?.() }),
        });
        if (status !== "completed") throw new Error(status);
      }),
  };
}

const calculator = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => Promise.resolve("2") });

function meterCaller({ api, provider }: typeof WIRES[number], isStreamed: boolean): Caller {
  return {
    name: `meter(), ${api}, ${isStreamed ? "streamed" : "whole"}`,
    kind: "meter",
    api,
    provider,
    isStreamed,
    call: (
      { purser, fake, telemetry },
      {
        signal,
        onPart,
        maxOutputTokens,
        prompt = "Hi",
        hasTool,
        tags,
        model = MODEL,
        sessionId = SCOPES.sessionId,
      } = {},
    ) => {
      const others = telemetry.spans.length;
      return outcomeOf(async () => {
        const metered = meter(purser.core, realModel(fake, api, model, provider), {
          ...SCOPES,
          sessionId,
          provider,
          tags,
        });
        const call = {
          model: metered,
          prompt,
          maxRetries: 0,
          abortSignal: signal,
          ...(hasTool && { tools: { calculator }, stopWhen: stepCountIs(3) }),
          ...(maxOutputTokens !== undefined && { maxOutputTokens }),
        };
        if (!isStreamed) return await generateText(call);
        const stream = streamText({ ...call, onError() {} });
        for await (const part of stream.fullStream) {
          if (part.type === "text-delta") onPart?.();
          if (part.type === "error") throw part.error;
          if (part.type === "abort") throw new DOMException("aborted", "AbortError");
        }
      }).finally(() => ended(telemetry, others));
    },
  };
}

/** Waits until each span from `first` on has ended: the AI SDK ends a cancelled stream without waiting for what it has cancelled. */
async function ended({ spans }: RecordingTelemetry, first: number): Promise<void> {
  while (spans.slice(first).some(({ hasEnded }) => !hasEnded)) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function gatewayCaller({ api, provider }: typeof WIRES[number], isStreamed: boolean): Caller {
  return {
    name: `gateway, ${api}, ${isStreamed ? "streamed" : "whole"}`,
    kind: "gateway",
    api,
    provider,
    isStreamed,
    async call(
      { purser },
      { key, signal, onPart, maxOutputTokens, tags, model = MODEL, sessionId = SCOPES.sessionId } = {},
    ) {
      const { path, body } = requestFor({ api, provider, model }, { isStreamed, asksForUsage: true });
      const headers = {
        "x-purser-agent": SCOPES.agentId,
        "x-purser-session": sessionId,
        ...(tags && { "x-purser-tags": JSON.stringify(tags) }),
      };
      const others = new Set(purser.core.gateway.calls.keys());
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
        await allEnded(purser, others);
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

async function callOpenAi({ baseUrls }: World["fake"], model: string) {
  const response = await fetch(`${baseUrls.openai}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });
  return (await response.json()).usage;
}

let reports = 0;

/** An agent that calls its provider itself, and reports what it has read in the answer. */
const REPORT: Caller = {
  name: "report",
  kind: "report",
  api: "openai-chat",
  provider: "openai",
  isStreamed: false,
  call: (
    { purser, fake },
    { model = MODEL, sessionId = SCOPES.sessionId, tags, callId = `reported-${++reports}`, at } = {},
  ) =>
    outcomeOf(async () => {
      const usage = await callOpenAi(fake, model);
      const { status, body } = await purser.api("POST", "/costs/events", [{
        call_id: callId,
        at: new Date(at ?? purser.clock.now()).toISOString(),
        agent_id: SCOPES.agentId,
        session_id: sessionId,
        provider: "openai",
        model,
        input_tokens: usage.prompt_tokens,
        output_tokens: usage.completion_tokens,
        input_audio_tokens: usage.prompt_tokens_details.audio_tokens,
        tags,
      }]);
      if (status !== 201) throw new PurserError(body.code, body.detail);
    }),
};

/** An agent that calls its provider itself, and writes a log, which is imported. */
const LOG: Caller = {
  name: "log",
  kind: "log",
  api: "openai-chat",
  provider: "openai",
  isStreamed: false,
  call: (
    { purser, fake },
    { model = MODEL, sessionId = SCOPES.sessionId, tags, callId = `logged-${++reports}`, at } = {},
  ) =>
    outcomeOf(async () => {
      const usage = await callOpenAi(fake, model);
      const timestamp = at ?? purser.clock.now();
      const message = {
        role: "assistant",
        provider: "openai",
        model,
        timestamp,
        responseId: callId,
        usage: { input: usage.prompt_tokens, output: usage.completion_tokens, cacheRead: 0, cacheWrite: 0 },
      };
      const lines = toLines({ type: "session", id: sessionId }, { type: "message", message });
      const { calls } = readLogs(pi, { ".pi/agent/sessions/--home-dev--/s1.jsonl": lines });
      const { status, body } = await purser.api("POST", "/sightings", {
        origin: { source: "log", name: "pi", agent_id: SCOPES.agentId },
        sightings: calls.map((call) => ({ ...sightingToWire(call), tags })),
      });
      if (status !== 200) throw new PurserError(body.code, body.detail);
      if (body.refused > 0) throw new Error(body.reasons[0].reason);
    }),
};

/** All callers, each over each wire, whole and streamed; the reports, and the logs. */
export const CALLERS: readonly Caller[] = [
  ...[runCaller, meterCaller, gatewayCaller].flatMap((make) =>
    WIRES.flatMap((wire) => [false, true].map((isStreamed) => make(wire, isStreamed)))
  ),
  REPORT,
  LOG,
];
