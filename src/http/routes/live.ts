import type { Context } from "hono";
import { LiveState, LiveStreamEvent } from "../../contract/live.ts";
import { deltaOf, type LiveReading, type LiveView } from "../../service/live/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, eventStream, json, problems, z } from "../create_route.ts";
import { onlyAgentOf } from "../middleware/agent_reach.ts";
import { type ApiEnv, leaseOf, principalOf } from "../middleware/principal.ts";
import { accessCheckOf, HEARTBEAT, HEARTBEAT_MS, logOnce, STREAM_HEADERS } from "../middleware/streams.ts";
import { createRouter } from "../router.ts";

const live = createRoute({
  method: "get",
  path: "/live",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "streamLive",
  summary: "Stream the spending of today, runs, alerts, refusals and budgets as server-sent events",
  description:
    "The first message, `state`, is the whole; `delta` has what has changed, at most once a second, and within two " +
    "seconds also what other processes have booked. A comment is sent after fifteen seconds without a message. A " +
    "stream that is opened again begins with the whole too, whatever its `Last-Event-ID`. With `once=true` the answer " +
    "is the state as JSON. A key of one agent gets that agent's part. The stream ends when its key expires or is " +
    "revoked; a stream without a key ends when the first key is created.",
  tags: ["events"],
  request: {
    query: z.strictObject({
      once: z.enum(["true", "false"]).optional().openapi({ description: "Only the state, as JSON" }),
    }),
  },
  responses: {
    200: {
      description: "The stream, which does not end by itself; with `once=true` the state",
      content: { ...json(LiveState, "").content, ...eventStream(LiveStreamEvent) },
    },
    ...problems("invalid"),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(live, async (c) => {
    const view = { agentId: onlyAgentOf(c), keyId: principalOf(c)?.keyId ?? null };
    if (c.req.valid("query").once === "true") return c.json(await core.live.read(view), 200);
    // The body of a HEAD response is not read, so nothing would ever end the stream.
    if (c.req.method === "HEAD") return c.body("", 200, STREAM_HEADERS) as never;
    return streamLive(c, core, view) as never;
  });
}

function streamLive(c: Context<ApiEnv>, core: Core, view: LiveView): Response {
  const lease = leaseOf(c);
  lease?.begin("streams");
  const end = lease?.keep();
  const gone = new AbortController();
  const stopped = AbortSignal.any([gone.signal, core.stopping]);
  const readings = core.live.follow(view, stopped);
  const isStillAllowed = accessCheckOf(c, core);
  let sent: LiveReading | undefined;
  let lastSentAt = core.clock.now();
  /** Returns the next bytes to send; undefined at the end of the stream. */
  const next = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    for (;;) {
      const { done, value: reading } = await readings.next();
      if (done || !await isStillAllowed()) return undefined;
      const bytes = encodeChange(sent, reading);
      sent = reading;
      const now = core.clock.now();
      if (!bytes && now - lastSentAt < HEARTBEAT_MS) continue;
      lastSentAt = now;
      return bytes ?? HEARTBEAT;
    }
  };
  const close = async () => {
    end?.();
    await readings.return(undefined);
  };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const bytes = await next().catch((error) => {
        // The response has begun and can only be ended. The client reconnects.
        if (!stopped.aborted) logOnce(core, error);
      });
      if (gone.signal.aborted) return;
      if (bytes) return controller.enqueue(bytes);
      controller.close();
      await close();
    },
    async cancel() {
      gone.abort();
      await close();
    },
  }, { highWaterMark: 0 });
  return c.body(body, 200, STREAM_HEADERS);
}

/** The encoded messages by the reading that they lead to, and by the number of the one before it: streams share them. */
const encoded = new WeakMap<LiveReading, Map<number, Uint8Array<ArrayBuffer> | undefined>>();

/** Returns the message that leads from a reading to a later one; undefined if nothing has changed. */
function encodeChange(
  before: LiveReading | undefined,
  after: LiveReading,
): Uint8Array<ArrayBuffer> | undefined {
  if (before === after) return undefined;
  let messages = encoded.get(after);
  if (!messages) encoded.set(after, messages = new Map());
  const from = before?.number ?? 0;
  if (!messages.has(from)) {
    const isWhole = before?.state.day !== after.state.day;
    const data = isWhole ? after.state : deltaOf(before!.state, after.state);
    const text = data &&
      `event: ${isWhole ? "state" : "delta"}\ndata: ${JSON.stringify(data)}\nid: ${after.number}\n\n`;
    messages.set(from, text === undefined ? undefined : new TextEncoder().encode(text));
  }
  return messages.get(from);
}
