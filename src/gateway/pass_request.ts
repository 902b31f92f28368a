import { CANCELLED, type OpenCall, openCall } from "../calls/mod.ts";
import { mayPassHeader, withQuery } from "../config/mod.ts";
import type { ByteReader } from "../kernel/byte_reader.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { logsDebug } from "../kernel/log.ts";
import { formatUsd } from "../kernel/money.ts";
import { hasPlanHeaders } from "../plans/sources/mod.ts";
import type { Fields } from "../pricing/usage/mod.ts";
import { idsIn, type ModelCall } from "../ledger/mod.ts";
import { withAgentOfBody } from "./agent_of_body.ts";
import { checkRequested, checkShown, fallbacksIn, keepModels } from "./allowed_models.ts";
import { readAnswer } from "./answer_reader.ts";
import { GatewayCall, termsOf } from "./call_request.ts";
import { errorKindOf, noteEnd, noteStatus } from "./call_facts.ts";
import type { GatewayContext, GatewayRequest } from "./context.ts";
import { splitEvents, splitList } from "./events.ts";
import { answerHeaders, requestHeaders } from "./headers.ts";
import type { HiddenSecrets } from "./hidden_secrets.ts";
import { estimateInputBytes } from "./input_size.ts";
import { type Content, contentOf, letGo } from "./content.ts";
import { beginCall, type LiveCall } from "./live_calls.ts";
import { othersTurn, parseAnswer, parseBody } from "./parse_body.ts";
import { CLIENT_LEFT, passStream } from "./pass_stream.ts";
import { notePayer, notePlan, payerOf, stopBeforeCredits } from "./plan_meter.ts";
import { checkQuery } from "./query.ts";
import { type AnsweredCall, bookedFor, settleAnswer } from "./settle_answer.ts";
import { checkModel, type Endpoint, findEndpoint } from "./targets.ts";
import type { SendInit } from "./pooled_send.ts";
import { decoded, type ProviderAnswer, readWhole } from "./provider_answer.ts";
import { findUpstream, paidWith, type Upstream } from "./upstreams.ts";
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
 * Passes a request on to its provider, and the answer back, byte for byte. A model call is admitted by its budgets before it is
 * sent, and is in the ledger before its client sees the end of the answer.
 *
 * @throws {PurserError} `budget_exceeded` when nothing was sent; `provider_error` where the provider gave no answer
 */
export async function passRequest(ctx: GatewayContext, request: GatewayRequest): Promise<PassedAnswer> {
  const endpoint = findEndpoint(request.method, request.target, request.headers);
  checkQuery(request.method, request.target, request.search);
  const upstream = findUpstream(ctx, request.target);
  if (endpoint.kind === "free") return await passFree(ctx, request, upstream, endpoint);
  const bytes = await request.body();
  const readAt = ctx.clock.monotonic();
  const { body, isLarge } = await parseBody(ctx, bytes);
  const { wire } = endpoint;
  const model = wire.read(body, endpoint.model === undefined ? undefined : checkModel(endpoint.model));
  request.note?.({ model: model.model });
  checkRequested(model.model, body, wire.known, request.caller);
  if (request.caller.stopsBeforeCredits) await stopBeforeCredits(ctx, request, model.model);
  const { headers, caller, attribution } = request;
  const { secrets } = ctx;
  request.attribution = withAgentOfBody(attribution, { headers, body, caller, secrets });
  return await passCall(ctx, { request, upstream, wire, model, body, bytes, isLarge, readAt });
}

interface CallToPass {
  request: GatewayRequest;
  upstream: Upstream;
  wire: Wire;
  model: ModelRequest;
  body: Fields;
  bytes: Uint8Array<ArrayBuffer>;
  isLarge: boolean;
  /** When its body was read, on the monotonic clock. */
  readAt: number;
}

async function passCall(ctx: GatewayContext, call: CallToPass): Promise<PassedAnswer> {
  const { request, wire, model, body, bytes, isLarge } = call;
  if (isLarge) await othersTurn(ctx);
  const asked = wire.askForUsage?.(bytes, body) ?? { bytes, isAdded: false };
  await ctx.prices.ready?.();
  await ctx.gateway.ready();
  ctx.callSpool.prepare(ctx.gateway.calls.size + 1);
  if (isLarge) await othersTurn(ctx);
  const inputBytes = estimateInputBytes(body, bytes.length);
  const billing = await payerOf(ctx, request.target.provider, model.model);
  const terms = await termsOf(ctx, request, billing);
  const fallbacks = () => fallbacksIn(model.model, body, wire.known);
  const callRequest = new GatewayCall(request, model, { body: bytes, inputBytes }, fallbacks);
  let isSent = false;
  try {
    return await openCall(ctx, terms, callRequest, (open) => {
      isSent = true;
      return sendCall(ctx, call, { asked, open, callRequest });
    });
  } catch (error) {
    if (isSent || !request.signal?.aborted || error instanceof PurserError) throw error;
    throw new PurserError("unavailable", "Cannot make the call: its client has left while it waited");
  }
}

async function sendCall(
  ctx: GatewayContext,
  { request, upstream, wire, model, body, bytes, readAt }: CallToPass,
  { asked, open, callRequest }: {
    asked: { bytes: Uint8Array; isAdded: boolean };
    open: OpenCall;
    callRequest: GatewayCall;
  },
): Promise<PassedAnswer> {
  const { provider } = request.target;
  request.note?.({ call_id: open.id });
  const live = beginCall(ctx, open.id, request.caller.viewer);
  const content = contentOf(asked.bytes as Uint8Array<ArrayBuffer>, bytes, body);
  let response: ProviderAnswer;
  try {
    response = await open.run(() => {
      const headers = sentHeaders(ctx, request, upstream, true);
      callRequest.paidWith = paidWith(upstream, headers);
      return send(ctx, request, upstream, { headers, content, live });
    });
  } catch (error) {
    let made: ModelCall | undefined;
    try {
      // A request that was sent may be charged, whatever became of its answer.
      made = await bookedFor(request, open.fail(error));
    } finally {
      live.end();
    }
    throw noAnswer(provider, error, live, made?.callId);
  }

  const isPlan = notePayer(ctx, provider, response.headers);
  const ids = idsIn(response.headers);
  if (hasPlanHeaders(response.headers)) {
    notePlan(ctx, request, model.model, { headers: response.headers, ended: live.ended });
  }
  const type = response.headers.get("content-type") ?? "";
  const { hidden } = upstream;
  const headers = answerHeaders(response.headers, hidden, open.id);
  const isJson = /json/i.test(type);
  // Some servers name another type for the events of a stream, or none.
  const isEvents = /^text\/event-stream/i.test(type) || (model.isStreamed && !isJson);
  const isList = model.isStreamed && request.target.family === "google" && isJson;
  const source = response.ok && (isEvents || isList) ? decoded(response) : undefined;
  const reader = readAnswer(wire, provider, content.asked, {
    headers: response.headers,
    isStreamed: source !== undefined,
  });
  if (source) {
    const answer = {
      source,
      splitter: isEvents ? splitEvents() : splitList(),
      wire,
      reader,
      live,
      hidesUsage: asked.isAdded,
      hidden,
      onDisconnect: upstream.onDisconnect,
      memory: request.memory,
      signal: request.signal,
      async book(brokenBy?: unknown) {
        noteEnd(
          request,
          reader,
          brokenBy === undefined ? undefined : live.cancelledBy ?? messageOf(brokenBy),
        );
        try {
          const errorType = live.cancelledBy === CLIENT_LEFT ? CANCELLED : reader.errorKind;
          await settleAnswer(ctx, { request, model, open, reader, isPlan, ids, live, readAt }, {
            ...reader.report(brokenBy),
            errorType,
          });
        } finally {
          live.end();
        }
      },
    };
    ctx.keepAlive?.(live.ended);
    return { status: response.status, headers, body: passStream(ctx, answer), ended: live.ended };
  }
  try {
    return await passWhole(ctx, {
      request,
      model,
      open,
      isPlan,
      ids,
      response,
      headers,
      hidden,
      reader,
      live,
      readAt,
    });
  } finally {
    live.end();
  }
}

/** The longest answers that models write: what is larger, such as an image, is not text. */
const LONGEST_OUTPUT_TOKENS = 128_000;
const BYTES_PER_TOKEN = 4;

/** Passes on an answer that comes as a whole, once its call is booked. A call that failed without usage is not booked. */
async function passWhole(
  ctx: GatewayContext,
  { response, headers, hidden, ...call }: AnsweredCall & {
    response: ProviderAnswer;
    headers: Record<string, string>;
    hidden: HiddenSecrets;
  },
): Promise<PassedAnswer> {
  const { request, model, open, reader, live } = call;
  const { provider } = request.target;
  let bytes: Uint8Array<ArrayBuffer>;
  let size = 0;
  try {
    bytes = await readWhole(ctx, response, live, request.memory, (length) => size += length);
  } catch (error) {
    const longest = model.maxOutputTokens ?? LONGEST_OUTPUT_TOKENS;
    reader.takeBody(undefined, Math.min(size, longest * BYTES_PER_TOKEN));
    if (response.ok) await settleAnswer(ctx, call, reader.report(error));
    else await open.refuse(error);
    throw noAnswer(provider, error, live, response.ok ? open.id : undefined);
  }
  reader.takeBody(await parseAnswer(ctx, bytes), bytes.length);
  const { status: statusCode } = response;
  if (response.ok || reader.hasTokens()) {
    const errorType = response.ok ? reader.errorKind : String(statusCode);
    const made = await settleAnswer(ctx, call, { ...reader.report(), errorType });
    if (made.costNanoUsd !== null) headers["x-purser-cost-usd"] = formatUsd(made.costNanoUsd);
  } else await open.refuse(Object.assign(new Error(`status ${statusCode}`), { statusCode }));
  checkStatus(provider, response);
  if (response.ok) noteEnd(request, reader, undefined);
  else noteStatus(request, response, reader.errorKind);
  return { status: response.status, headers, body: hidden.inBytes(bytes) };
}

/** Passes on a request that costs nothing. Of the models, a key sees only those that it may call. */
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
  const live = beginCall(ctx, ctx.ids.next("call"), request.caller.viewer);
  try {
    const content = body && contentOf(body, body, {});
    const sent = sentHeaders(ctx, request, upstream, content !== undefined);
    const response = await send(ctx, request, upstream, { headers: sent, content, live });
    checkStatus(provider, response);
    const { hidden } = upstream;
    const headers = answerHeaders(response.headers, hidden);
    const bytes = method === "HEAD"
      ? null
      : hidden.inBytes(await readWhole(ctx, response, live, request.memory));
    if (!response.ok) {
      noteStatus(request, response, bytes ? errorKindOf(await parseAnswer(ctx, bytes)) : undefined);
    }
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

/** Returns the headers of a request for its provider. */
function sentHeaders(
  ctx: GatewayContext,
  { headers: client, target: { provider, family } }: GatewayRequest,
  { passedHeaders: configured, headers: added }: Upstream,
  hasBody: boolean,
): Record<string, string> {
  const { secrets } = ctx;
  const { headers, dropped } = requestHeaders(client, { family, configured, added, hasBody, secrets });
  if (logsDebug(ctx.log)) logDropped(ctx, provider, dropped);
  return headers;
}

function send(
  ctx: GatewayContext,
  { method, search, onBodySent }: GatewayRequest,
  upstream: Upstream,
  { headers, content, live }: {
    headers: Record<string, string>;
    content: Content | undefined;
    live: LiveCall;
  },
): Promise<ProviderAnswer> {
  live.sentAt = live.quietSince = ctx.clock.monotonic();
  const init: SendInit = {
    method,
    headers,
    ...(content && { body: content.sent, onSent: () => letGo(content, onBodySent) }),
    signal: live.signal,
  };
  return ctx.gateway.send(withQuery(upstream.url + search, upstream.query), init);
}

const MAX_LOGGED_HEADERS = 20;

/** Logs the headers of a client that were not passed on, except for those that never are. */
function logDropped({ log }: GatewayContext, provider: string, dropped: readonly string[]): void {
  const names = dropped.filter(mayPassHeader);
  if (names.length === 0) return;
  log.debug("Headers of a client were not passed on", {
    provider,
    headers: names.slice(0, MAX_LOGGED_HEADERS).join(", "),
  });
}

/** Maps a provider's refusal of Purser's key: with a 401, the client's SDK would take its own key for invalid. */
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
