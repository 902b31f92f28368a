import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { WireAnswer } from "../fixtures/providers/mod.ts";
import type { ProviderRequest } from "./fake_provider.ts";
import { errorBody } from "./provider_errors.ts";

/** The reply of the fake provider to one request. `after` delays it until a promise settles; `headers` are added to it. */
export type Reply =
  & { after?: Promise<unknown>; headers?: Record<string, string> }
  & (
    /** A successful response, streamed if the request asks for it. */
    | { answer: WireAnswer }
    /** An HTTP error with the body that the provider would send. */
    | { status: number; message?: string }
    /** Any text, with status 200 unless another is given: not JSON, or JSON of another shape. */
    | { text: string; contentType?: string; status?: number }
    /** A stream of only these frames, all of them sent; then the socket is closed. */
    | { brokenAfter: readonly (string | Promise<unknown>)[] }
    /** A stream whose promises hold back the frames after them; it ends properly. */
    | { paced: readonly (string | Promise<unknown>)[] }
    /** No response until the client disconnects or the fake provider is closed. */
    | { hang: true }
  );

/** Carries out a reply. Stops without an error when the client disconnects. */
export async function sendReply(
  request: ProviderRequest,
  reply: Reply,
  response: ServerResponse,
): Promise<void> {
  const gone = untilAborted(request.signal);
  if (reply.after) await Promise.race([reply.after, gone]);
  if ("hang" in reply) return await gone;
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if ("answer" in reply && !request.isStreamed) return sendJson(response, 200, reply.answer.body);
  if ("answer" in reply) return await sendFrames(response, framesFor(request, reply.answer), gone);
  if ("paced" in reply) return await sendFrames(response, reply.paced, gone);
  if ("brokenAfter" in reply) {
    await sendFrames(response, reply.brokenAfter, gone, false);
    response.destroy();
    return;
  }
  if ("text" in reply) {
    const { text, contentType = "application/json", status = 200 } = reply;
    response.writeHead(status, { "content-type": contentType }).end(text);
    return;
  }
  sendJson(response, reply.status, errorBody(request.api, reply.status, reply.message));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Returns the frames of a stream; those of OpenAI's chat have usage only where the request asks for it. */
function framesFor({ api, body }: ProviderRequest, { frames }: WireAnswer): readonly string[] {
  if (api !== "openai-chat" || body.stream_options?.include_usage === true) return frames;
  return frames.filter((frame) => !/"choices":\[\],.*"usage":\{/.test(frame))
    .map((frame) => frame.replace(/,"usage":null\}\n\n$/, "}\n\n"));
}

/** Writes each frame as a chunk of its own and waits until the socket has accepted it. */
async function sendFrames(
  response: ServerResponse,
  frames: readonly (string | Promise<unknown>)[],
  gone: Promise<void>,
  shouldEnd = true,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  for (const frame of frames) {
    if (response.destroyed) return;
    const sent = typeof frame === "string"
      ? new Promise<void>((resolve) => response.write(frame, () => resolve()))
      : frame;
    await Promise.race([sent, gone]);
  }
  if (shouldEnd) response.end();
}

/** Resolves when the signal aborts. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
