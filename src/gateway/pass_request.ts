import { chargeEvidence, type UsageReport } from "../booking/mod.ts";
import { MAX_GATEWAY_BODY_WORK } from "../contract/limits.ts";
import type { ByteReader } from "../kernel/byte_reader.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { formatUsd } from "../kernel/money.ts";
import { measureBody } from "../kernel/json/json_work.ts";
import { parseInTurns } from "../kernel/json/parse_in_turns.ts";
import { awaitTurns, type MemoryShare, SLICE_UNITS, SMALL_PART_BYTES } from "../kernel/turns.ts";
import { type Fields, isFields } from "../pricing/mod.ts";
import { checkWritable } from "../store/mod.ts";
import { traceCall } from "../telemetry/mod.ts";
import { admit } from "./admit.ts";
import { checkRequested, checkShown, keepModels } from "./allowed_models.ts";
import { type AnswerReader, readAnswer } from "./answer_reader.ts";
import { bookAnswer, type PassedCall } from "./book_answer.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { splitEvents, splitList } from "./events.ts";
import { answerHeaders, requestHeaders } from "./headers.ts";
import { estimateInputBytes } from "./input_size.ts";
import { beginCall, type LiveCall } from "./live_calls.ts";
import { passStream } from "./pass_stream.ts";
import { checkModel, checkQuery, type Endpoint, findEndpoint } from "./targets.ts";
import type { ProviderAnswer } from "./provider_answer.ts";
import type { SendInit } from "./pooled_send.ts";
import { findUpstream, type Upstream } from "./upstreams.ts";
import { cannotPass } from "./wires/requests.ts";
import { findAmbiguity } from "./wires/splice_json.ts";
import type { ModelRequest, Wire } from "./wires/wire.ts";

/** The answer to a request, as the provider has sent it. */
export interface PassedAnswer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer> | ByteReader | null;
  /** Resolves once a streamed answer is booked. */
  ended?: Promise<void>;
}

/**
 * Passes a request on to its provider, and the answer back, byte for byte. A model call stands under its budgets before, and is
 * in the ledger once its client sees the end of the answer.
 *
 * @throws {PurserError} `budget_exceeded` when nothing was sent; `provider_error` where the provider gave no answer
 */
export async function passRequest(ctx: GatewayContext, request: GatewayRequest): Promise<PassedAnswer> {
  const endpoint = findEndpoint(request.method, request.target, request.headers);
  const upstream = findUpstream(request.target, ctx.providerSources);
  if (endpoint.kind === "free") return await passFree(ctx, request, upstream, endpoint);
  const bytes = await request.body();
  const { body, isLarge } = await parseBody(ctx, bytes);
  const { wire } = endpoint;
  checkQuery(request.target, request.search);
  const model = wire.read(body, endpoint.model === undefined ? undefined : checkModel(endpoint.model));
  checkRequested(model.model, body, request.caller);
  return await passCall(ctx, { request, upstream, wire, model, body, bytes, isLarge });
}

interface CallToPass {
  request: GatewayRequest;
  upstream: Upstream;
  wire: Wire;
  model: ModelRequest;
  body: Fields;
  bytes: Uint8Array<ArrayBuffer>;
  isLarge: boolean;
}

async function passCall(
  ctx: GatewayContext,
  { request, upstream, wire, model, body, bytes, isLarge }: CallToPass,
): Promise<PassedAnswer> {
  const { target: { provider } } = request;
  if (isLarge) await othersTurn(ctx);
  const asked = wire.askForUsage?.(bytes, body) ?? { bytes, isAdded: false };
  await ctx.prices.ready?.();
  if (ctx.gateway.isLedgerDown) {
    await checkWritable(ctx.store);
    ctx.gateway.isLedgerDown = false;
  }
  if (isLarge) await othersTurn(ctx);
  const inputBytes = estimateInputBytes(body, bytes.length);
  const admitted = await admit(ctx, request, model, { bytes: bytes.length, inputBytes });
  const callId = ctx.ids.next("call");
  const { agentId, sessionId, runId } = request.attribution;
  const facts = { agentId, sessionId, runId, provider, model: model.model, isStreamed: model.isStreamed };
  const passed: PassedCall = {
    ...{ callId, gatewayRequest: request, request: model, admitted, inputBytes },
    trace: traceCall(ctx.telemetry, { ...facts, settings: { maxOutputTokens: model.maxOutputTokens } }),
    startedAt: ctx.clock.monotonic(),
  };
  const live = beginCall(ctx, callId);
  const release = async (reason: unknown) => {
    passed.trace.failed(reason);
    if (admitted.grant) await ctx.gate.release(admitted.grant);
  };
  let response: ProviderAnswer;
  try {
    const content = { sent: asked.bytes as Uint8Array<ArrayBuffer>, bytes, body };
    response = await passed.trace.run(() => send(ctx, request, upstream, { content, live }));
  } catch (error) {
    // A request that was sent may be charged, whatever became of its answer.
    const isBooked = chargeEvidence(error) === "possible";
    try {
      if (isBooked) {
        await bookAnswer(ctx, passed, { counted: undefined, brokenBy: error }, { outputBytes: 0 });
      } else await release(error);
    } finally {
      live.end();
    }
    throw noAnswer(provider, error, live, isBooked ? callId : undefined);
  }

  const reader = readAnswer(wire, provider);
  const type = response.headers.get("content-type") ?? "";
  const headers = answerHeaders(response.headers, callId);
  const isJson = /json/i.test(type);
  // Some servers name another type for the events of a stream, or none.
  const isEvents = /^text\/event-stream/i.test(type) || (model.isStreamed && !isJson);
  const isList = model.isStreamed && request.target.family === "google" && isJson;
  const source = response.ok && (isEvents || isList) ? decoded(response) : undefined;
  if (source) {
    const answer = {
      source,
      splitter: isEvents ? splitEvents() : splitList(),
      ...{ wire, reader, live, hidesUsage: asked.isAdded, onDisconnect: upstream.onDisconnect },
      memory: request.memory,
      signal: request.signal,
      async book(brokenBy?: unknown) {
        try {
          await bookAnswer(ctx, passed, reader.report(brokenBy), reader);
        } finally {
          live.end();
        }
      },
    };
    ctx.keepAlive?.(live.ended);
    return { status: response.status, headers, body: passStream(ctx, answer), ended: live.ended };
  }
  try {
    return await passWhole(ctx, { passed, response, headers, reader, live, release });
  } finally {
    live.end();
  }
}

/** The longest answers that models write: what is larger, such as an image, is not text. */
const LONGEST_OUTPUT_TOKENS = 128_000;
const BYTES_PER_TOKEN = 4;

/** Passes on an answer that comes as a whole, once it is booked; an error without usage is not. */
async function passWhole(
  ctx: GatewayContext,
  { passed, response, headers, reader, live, release }: {
    passed: PassedCall;
    response: ProviderAnswer;
    headers: Record<string, string>;
    reader: AnswerReader;
    live: LiveCall;
    release: (reason: unknown) => Promise<void>;
  },
): Promise<PassedAnswer> {
  const { provider } = passed.gatewayRequest.target;
  const book = (report: UsageReport) => bookAnswer(ctx, passed, report, reader);
  let bytes: Uint8Array<ArrayBuffer>;
  let size = 0;
  try {
    bytes = await readWhole(ctx, response, live, passed.gatewayRequest.memory, (length) => size += length);
  } catch (error) {
    const longest = passed.request.maxOutputTokens ?? LONGEST_OUTPUT_TOKENS;
    reader.takeBody(undefined, Math.min(size, longest * BYTES_PER_TOKEN));
    if (response.ok) await book(reader.report(error));
    else await release(error);
    throw noAnswer(provider, error, live, response.ok ? passed.callId : undefined);
  }
  reader.takeBody(await parseAnswer(ctx, bytes), bytes.length);
  if (response.ok || reader.hasTokens()) {
    const call = await book(reader.report());
    if (call.costNanoUsd !== null) headers["x-purser-cost-usd"] = formatUsd(call.costNanoUsd);
  } else await release(new Error(`status ${response.status}`));
  checkStatus(provider, response);
  return { status: response.status, headers, body: bytes };
}

/** Passes on what costs nothing. A key is shown the models only that it may call. */
async function passFree(
  ctx: GatewayContext,
  request: GatewayRequest,
  upstream: Upstream,
  endpoint: Endpoint & { kind: "free" },
): Promise<PassedAnswer> {
  const { method, target: { provider }, caller } = request;
  const { models } = caller;
  const body = method === "POST" ? await request.body() : undefined;
  if (models !== null) await checkShown(endpoint, caller, async () => (await parseBody(ctx, body!)).body);
  const live = beginCall(ctx, ctx.ids.next("call"));
  try {
    const content = body && { sent: body, bytes: body, body: {} };
    const response = await send(ctx, request, upstream, { content, live });
    checkStatus(provider, response);
    const headers = answerHeaders(response.headers, undefined);
    const bytes = method === "HEAD" ? null : await readWhole(ctx, response, live, request.memory);
    const isFiltered = endpoint.shows === "models" && models !== null && bytes !== null && response.ok;
    const kept = isFiltered ? keepModels(await parseAnswer(ctx, bytes), models) : bytes;
    return { status: response.status, headers, body: kept };
  } catch (error) {
    if (error instanceof PurserError) throw error;
    throw noAnswer(provider, error, live);
  } finally {
    live.end();
  }
}

function send(
  ctx: GatewayContext,
  { method, headers, search, onBodySent }: GatewayRequest,
  upstream: Upstream,
  { content, live }: { content: Content | undefined; live: LiveCall },
): Promise<ProviderAnswer> {
  live.quietSince = ctx.clock.monotonic();
  const init: SendInit = {
    method,
    headers: requestHeaders(headers, upstream.headers),
    ...(content && { body: content.sent, onSent: () => letGo(content, onBodySent) }),
    signal: live.signal,
  };
  return ctx.gateway.send(upstream.url + search, init);
}

/** The content of a request: the bytes that are sent, those that came, and what they were parsed to. */
interface Content {
  sent: Uint8Array<ArrayBuffer>;
  bytes: Uint8Array<ArrayBuffer>;
  body: Fields;
}

/** Frees the memory of a request that has been sent: many may wait for their answers, and prompts are large. */
function letGo({ sent, bytes, body }: Content, onBodySent: GatewayRequest["onBodySent"]): void {
  for (const { buffer } of new Set([sent, bytes])) buffer.transfer(0);
  for (const name of Object.keys(body)) delete body[name];
  onBodySent?.();
}

/** The largest answer that is read as a whole. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/** The names of encodings, and of the platform's for them. */
const ENCODINGS: Readonly<Record<string, string>> = {
  "gzip": "gzip",
  "x-gzip": "gzip",
  "deflate": "deflate",
  "br": "brotli",
};

/** Returns a reader of an answer. A compressed one is decoded, though the request takes none; undefined if it can't be. */
function decoded(answer: ProviderAnswer): ByteReader | null | undefined {
  const encoding = encodingOf(answer);
  if (encoding === "identity" && answer.reader) return answer.reader();
  const { body } = answer;
  if (!body) return null;
  try {
    const format = ENCODINGS[encoding] as CompressionFormat;
    return (encoding === "identity" ? body : body.pipeThrough(new DecompressionStream(format))).getReader();
  } catch {
    return undefined; // unknown, here or everywhere
  }
}

function encodingOf({ headers }: ProviderAnswer): string {
  return headers.get("content-encoding")?.trim().toLowerCase() || "identity";
}

/** Reads an answer as a whole, as far as the memory has room; `onPart` gets the length of each part. */
async function readWhole(
  { clock }: Pick<GatewayContext, "clock">,
  response: ProviderAnswer,
  live: LiveCall,
  memory: MemoryShare | undefined,
  onPart?: (length: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  live.quietSince = clock.monotonic();
  const take = async (part: Uint8Array<ArrayBuffer>) => {
    parts.push(part);
    size += part.length;
    onPart?.(part.length);
    if (size > MAX_ANSWER_BYTES) throw new Error(`the answer is over ${MAX_ANSWER_BYTES} bytes`);
    if (size > SMALL_PART_BYTES) {
      live.quietSince = undefined; // the provider is not to blame
      await memory?.grow(size);
    }
    live.quietSince = clock.monotonic();
  };
  const source = decoded(response);
  if (source === undefined) {
    await response.body?.cancel();
    throw new Error("its answer is compressed, though the request takes none");
  }
  try {
    for (let part = await source?.read(); part && !part.done; part = await source!.read()) {
      await take(part.value);
    }
  } catch (error) {
    memory?.hold(0);
    void source?.cancel(error).catch(() => {});
    throw error;
  }
  if (size > SMALL_PART_BYTES) memory?.hold(size);
  if (parts.length === 1) return parts[0]!;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The turns of the event loop in which a small request is answered. */
const TURNS_OF_A_REQUEST = 8;

/** Bodies below both are read in less than 0.1 s in all; a turn takes some milliseconds. */
const LARGE_BODY_BYTES = 4 * 1024 * 1024;
const LARGE_BODY_WORK = MAX_GATEWAY_BODY_WORK / 8;

/** Lets the requests of others be answered before what is done with a large body in one piece. */
async function othersTurn({ turns }: Pick<GatewayContext, "turns">): Promise<void> {
  await awaitTurns(turns, TURNS_OF_A_REQUEST * SLICE_UNITS);
}

/** Parses a body in steps, each of which takes less than 0.1 s. Throws `too_large` for one with too many values. */
async function parseBody(
  ctx: Pick<GatewayContext, "turns">,
  bytes: Uint8Array,
): Promise<{ body: Fields; isLarge: boolean }> {
  const work = await measureBody(bytes, MAX_GATEWAY_BODY_WORK, ctx.turns);
  const isLarge = bytes.length >= LARGE_BODY_BYTES || work >= LARGE_BODY_WORK;
  if (isLarge) await othersTurn(ctx);
  const text = decoder.decode(bytes);
  if (isLarge) await othersTurn(ctx);
  const body = tryParse(text);
  if (!isFields(body)) throw cannotPass("its body has to be a JSON object");
  if (isLarge) await othersTurn(ctx);
  const ambiguity = findAmbiguity(bytes);
  if (ambiguity === undefined) return { body, isLarge };
  throw cannotPass(`its body has ${ambiguity}`);
}

const decoder = new TextDecoder();

/** Larger answers are parsed in slices: vectors and probabilities of tokens make many megabytes. */
const LARGE_ANSWER_BYTES = 256 * 1024;

/** Returns the JSON of an answer; undefined for what is none. */
async function parseAnswer({ turns }: Pick<GatewayContext, "turns">, bytes: Uint8Array): Promise<unknown> {
  if (bytes.length < LARGE_ANSWER_BYTES) return tryParse(decoder.decode(bytes));
  return await parseInTurns(bytes, turns).catch(() => undefined);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A refusal of Purser's own key is not the client's: its SDK would fetch a new one. */
function checkStatus(provider: string, { status }: ProviderAnswer): void {
  if (status !== 401) return;
  throw new PurserError(
    "provider_error",
    `Cannot get an answer from ${provider}: it refused the key that Purser has for it; see purser doctor`,
    { details: { gateway_resend: false } },
  );
}

/** Returns the error for a call without an answer; `callId` if it is booked. */
function noAnswer(
  provider: string,
  error: unknown,
  { cancelledBy }: LiveCall,
  callId?: string,
): PurserError {
  if (error instanceof PurserError) return error;
  const details = {
    ...(cancelledBy !== undefined && { gateway_status: 504 }),
    ...(callId !== undefined && { gateway_call: callId }),
  };
  return new PurserError(
    "provider_error",
    `Cannot get an answer from ${provider}: ${cancelledBy ?? messageOf(error)}`,
    { cause: error, ...(Object.keys(details).length > 0 && { details }) },
  );
}
