import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { lastEventId, type LogPage } from "../../sessions/mod.ts";
import { onlyAgentOf } from "../middleware/agent_reach.ts";
import { leaseOf } from "../middleware/principal.ts";
import { createRoute, eventStream, problems, z } from "../create_route.ts";
import { accessCheckOf, HEARTBEAT, HEARTBEAT_MS, logOnce, STREAM_HEADERS } from "../middleware/streams.ts";
import { afterQuery, parsePosition } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { LogStreamEvent } from "../../contract/events.ts";

const tail = createRoute({
  method: "get",
  path: "/events",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "streamEvents",
  summary: "Stream the event log of all sessions as server-sent events",
  description:
    "Starts with the events after `Last-Event-ID` (header) or `after` (query); without either, with the " +
    "next event. The id of an event is its position in the log. A comment is sent after fifteen seconds " +
    "without an event. A key of one agent gets that agent's events only. The stream ends when its key " +
    "expires or is revoked; a stream without a key ends when the first key is created.",
  tags: ["events"],
  request: {
    query: z.strictObject({
      after: afterQuery("The last `event_id` received").optional(),
    }),
    headers: z.object({
      "last-event-id": z.string().optional().openapi({
        description: "The id of the last event received; takes precedence over `after`",
        example: "42",
      }),
    }),
  },
  responses: {
    200: { description: "The stream, which does not end by itself", content: eventStream(LogStreamEvent) },
    ...problems("invalid"),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(tail, async (c) => {
    const after = startOf(c.req.valid("header")["last-event-id"], c.req.valid("query").after) ??
      await lastEventId(core);
    // The body of a HEAD response is not read, so nothing would ever end the stream.
    if (c.req.method === "HEAD") return c.body("", 200, STREAM_HEADERS);
    const lease = leaseOf(c);
    lease?.begin("streams");
    const end = lease?.keep();
    const gone = new AbortController();
    const stopped = AbortSignal.any([gone.signal, core.stopping]);
    const only = onlyAgentOf(c);
    const pages = core.logReader.follow(after, stopped);
    const isStillAllowed = accessCheckOf(c, core);
    let lastSentAt = core.clock.now();
    /** Returns the next bytes to send; undefined at the end of the stream. */
    const next = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
      for (;;) {
        const { done, value: page } = await pages.next();
        if (done) return undefined;
        // A key that is no longer valid gets none of the events that followed.
        if (!await isStillAllowed()) return undefined;
        const bytes = encodePage(page, only);
        const now = core.clock.now();
        if (bytes.length === 0 && now - lastSentAt < HEARTBEAT_MS) continue;
        lastSentAt = now;
        return bytes.length > 0 ? bytes : HEARTBEAT;
      }
    };
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const bytes = await next().catch((error) => {
          // The response has begun and can only be ended. The client reconnects with Last-Event-ID.
          if (!stopped.aborted) logOnce(core, error);
        });
        if (gone.signal.aborted) return;
        if (bytes) return controller.enqueue(bytes);
        controller.close();
        end?.();
        await pages.return(undefined);
      },
      async cancel() {
        gone.abort();
        end?.();
        await pages.return(undefined);
      },
    }, { highWaterMark: 0 });
    return c.body(body, 200, STREAM_HEADERS);
  });
}

/** The encoded pages, by the only agent of their readers; '' has the events of all agents. */
const encoded = new WeakMap<LogPage, Map<string, Uint8Array<ArrayBuffer>>>();

/** Returns a page as server-sent events; all streams that get the same page share its bytes. */
function encodePage(page: LogPage, only = ""): Uint8Array<ArrayBuffer> {
  let byAgent = encoded.get(page);
  if (!byAgent) encoded.set(page, byAgent = new Map());
  let bytes = byAgent.get(only);
  if (!bytes) {
    const events = page.events.filter(({ agentId }) => only === "" || agentId === only);
    const frames = events.map(({ eventId, type, text }) =>
      `event: ${type}\ndata: ${text}\nid: ${eventId}\n\n`
    );
    byAgent.set(only, bytes = new TextEncoder().encode(frames.join("")));
  }
  return bytes;
}

function startOf(header: string | undefined, query: number | undefined): number | undefined {
  if (header === undefined || header === "") return query;
  const position = parsePosition(header);
  if (position !== undefined) return position;
  throw new PurserError("invalid", "Cannot resume: Last-Event-ID is not the id of an event");
}
