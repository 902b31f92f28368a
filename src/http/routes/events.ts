import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { lastEventId, type LogPage } from "../../sessions/mod.ts";
import { onlyAgentOf } from "../middleware/agent_reach.ts";
import { createRoute, z } from "../create_route.ts";
import { problems } from "../problem_responses.ts";
import { eventStream } from "../route_parts.ts";
import { leaseOf } from "../middleware/principal.ts";
import { streamItems } from "../middleware/streams.ts";
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
    const only = onlyAgentOf(c);
    const { logReader } = await core.whole();
    return streamItems(c, core, {
      follow: (signal) => logReader.follow(after, signal, leaseOf(c)?.answer),
      encode: (page) => encodePage(page, only),
    });
  });
}

/** The encoded pages, by the only agent of their readers; '' has the events of all agents. */
const encoded = new WeakMap<LogPage, Map<string, Uint8Array<ArrayBuffer>>>();

/** Returns a page as server-sent events, whose bytes all streams share that get it; undefined if it has none. */
function encodePage(page: LogPage, only = ""): Uint8Array<ArrayBuffer> | undefined {
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
  return bytes.length === 0 ? undefined : bytes;
}

function startOf(header: string | undefined, query: number | undefined): number | undefined {
  if (header === undefined || header === "") return query;
  const position = parsePosition(header);
  if (position !== undefined) return position;
  throw new PurserError("invalid", "Cannot resume: Last-Event-ID is not the id of an event");
}
