import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import type { Core } from "../../service/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { createKeyCheck, isAuthRequired } from "../../keys/mod.ts";
import { lastEventId, listAllEvents } from "../../sessions/mod.ts";
import { type ApiEnv, leaseOf, onlyAgentOf, principalOf } from "../middleware/principal.ts";
import { createRoute, eventStream, problems, z } from "../create_route.ts";
import { afterQuery, parsePosition } from "../pagination.ts";
import { createRouter } from "../router.ts";
import { LogStreamEvent } from "../../contract/events.ts";

const PAGE = 100;
const HEARTBEAT_MS = 15_000;
/** Interval of reading the log where other processes may write to it. */
const POLL_MS = 250;

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
    let after = startOf(c.req.valid("header")["last-event-id"], c.req.valid("query").after) ??
      await lastEventId(core);
    // The body of a HEAD response is not read, so nothing would ever end the stream.
    if (c.req.method === "HEAD") return c.body("", 200, { "content-type": "text/event-stream" });
    const lease = leaseOf(c);
    lease?.begin("streams");
    const end = lease?.keep();
    const gone = new AbortController();
    const stopped = AbortSignal.any([gone.signal, core.stopping]);
    const only = onlyAgentOf(c);
    const isStillAllowed = accessCheckOf(c, core);
    return streamSSE(c, async (stream) => {
      stream.onAbort(() => gone.abort());
      let wake = () => {};
      const unsubscribe = core.bus.subscribe(() => wake());
      try {
        let lastSentAt = core.clock.now();
        while (!stopped.aborted && !stream.closed) {
          const changed = new Promise<void>((resolve) => wake = resolve);
          const events = await listAllEvents(core, { after, limit: PAGE });
          // A key that is no longer valid gets none of the events that followed.
          if (!await isStillAllowed()) return;
          for (const event of events) {
            after = event.event_id;
            if (only !== undefined && event.agent_id !== only) continue;
            await stream.writeSSE({
              id: String(event.event_id),
              event: event.type,
              data: JSON.stringify(event),
            });
            lastSentAt = core.clock.now();
          }
          if (core.clock.now() - lastSentAt >= HEARTBEAT_MS) {
            await stream.write(": still here\n\n");
            lastSentAt = core.clock.now();
          }
          if (events.length > 0) continue;
          await waitForMore(core, changed, stopped);
        }
      } catch (error) {
        // The response has begun and can only be ended. The client reconnects with Last-Event-ID.
        if (!stopped.aborted) core.log.error("The event stream broke", { reason: messageOf(error) });
      } finally {
        end?.();
        unsubscribe();
      }
    });
  });
}

/** Returns a check that fails once the stream's key is no longer valid or, without one, once there is a key. */
function accessCheckOf(c: Context<ApiEnv>, core: Core): () => Promise<boolean> {
  const principal = principalOf(c);
  if (principal) return createKeyCheck(core, principal);
  return async () => !c.env?.isKeyless || !await isAuthRequired(core);
}

/** Waits for a commit in this process or, where other processes may write, for the poll interval. */
async function waitForMore(core: Core, changed: Promise<void>, stopped: AbortSignal): Promise<void> {
  const over = new AbortController();
  const end = () => over.abort();
  stopped.addEventListener("abort", end, { once: true });
  try {
    const delayMs = core.store.isShared ? POLL_MS : HEARTBEAT_MS;
    await Promise.race([changed, core.clock.sleep(delayMs, over.signal)]);
  } finally {
    stopped.removeEventListener("abort", end);
    over.abort();
  }
}

function startOf(header: string | undefined, query: number | undefined): number | undefined {
  if (header === undefined || header === "") return query;
  const position = parsePosition(header);
  if (position !== undefined) return position;
  throw new PurserError("invalid", "Cannot resume: Last-Event-ID is not the id of an event");
}
