import { LiveState, LiveStreamEvent } from "../../contract/live.ts";
import { deltaOf, type LiveReading } from "../../service/live/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { eventStream, json } from "../route_parts.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { streamItems } from "../middleware/streams.ts";
import { createRouter } from "../router.ts";

const live = createRoute({
  method: "get",
  path: "/live",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "streamLive",
  summary:
    "Stream the spending of today, runs, alerts, refusals, budgets, rules and anomalies as server-sent events",
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
    const viewer = viewerOfRequest(c);
    const { live } = await core.whole();
    if (c.req.valid("query").once === "true") return c.json(await live.read(viewer), 200);
    let sent: LiveReading | undefined;
    return streamItems(c, core, {
      follow: (signal) => live.follow(viewer, signal),
      encode(reading) {
        const bytes = encodeChange(sent, reading);
        sent = reading;
        return bytes;
      },
    }) as never;
  });
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
