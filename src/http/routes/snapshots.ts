import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Context } from "hono";
import type { Core } from "../../service/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { getSession } from "../../sessions/mod.ts";
import {
  exportSession,
  gunzip,
  importSession,
  listImportedEvents,
  parseTags,
  type SessionExport,
  snapshotTooLarge,
} from "../../snapshots/mod.ts";
import { isJsonBody, notJson } from "../middleware/request_body.ts";
import {
  afterQuery,
  BODY_CODES,
  createRoute,
  headers,
  json,
  limitQuery,
  problems,
  z,
} from "../create_route.ts";
import { createRouter, type Router } from "../router.ts";
import { invalidInput } from "../../contract/schema_issues.ts";
import { SessionId } from "../../contract/parts.ts";
import {
  EXAMPLE,
  ImportedEvent,
  ImportResult,
  registerSnapshotSchema,
  SnapshotReference,
} from "../../contract/snapshots.ts";

const params = z.object({ session_id: SessionId });

const take = createRoute({
  method: "get",
  path: "/agents/{session_id}/snapshot",
  scopes: ["read"],
  agentCheck: "session_id",
  operationId: "exportSession",
  summary: "A whole session as one portable document",
  description:
    "Streamed, as the session is at this moment, also while a run is in progress; nothing changes. Canonical " +
    "JSON (RFC 8785), closed by its `integrity`.",
  tags: ["snapshots"],
  request: {
    params,
    query: z.strictObject({
      tag: z.union([z.string(), z.array(z.string())]).optional().openapi({
        type: "array",
        items: { type: "string" },
        description: "`key=value`, added to the document's tags; repeat for more",
      }),
      with_events: z.enum(["true", "false"]).optional().openapi({
        description: "Whether the session's event log goes with it",
      }),
    }),
    headers: z.object({
      "if-none-match": z.string().optional().openapi({
        description: "`ETag`s of the snapshots that the client has",
        example: 'W/"1-42"',
      }),
    }),
  },
  responses: {
    200: {
      description: "The snapshot",
      headers: headers(
        "ETag",
        "Cache-Control",
        "Vary",
        "Content-Disposition",
        "Content-Encoding",
        "Purser-Message-Count",
      ),
      content: { "application/json": { schema: SnapshotReference } },
    },
    304: {
      description: "It is still as the given ETag has it",
      headers: headers("ETag", "Cache-Control", "Vary"),
    },
    ...problems("invalid", "not_found"),
  },
});

const restore = createRoute({
  method: "post",
  path: "/agents/snapshot/restore",
  scopes: ["admin"],
  operationId: "restoreSession",
  summary: "Restore a session from a snapshot",
  description:
    "Checks the whole document first; then it becomes the session's state at once, or not at all. A run in " +
    "progress there is fenced off and ends as `cancelled`. The body may be sent with `Content-Encoding: gzip`.",
  tags: ["snapshots"],
  request: {
    query: z.strictObject({
      dry_run: z.enum(["true", "false"]).optional().openapi({
        description: "Tell what would happen; write nothing",
      }),
    }),
    headers: z.object({
      "content-encoding": z.string().optional().openapi({
        description: "`gzip`, where the body is compressed",
        example: "gzip",
      }),
    }),
    body: {
      required: true,
      content: { "application/json": { schema: SnapshotReference, example: EXAMPLE } },
    },
  },
  responses: {
    200: json(ImportResult, "What was, or would be, restored"),
    ...problems("invalid", "conflict", "unsupported", ...BODY_CODES),
  },
});

const imported = createRoute({
  method: "get",
  path: "/sessions/{session_id}/events/imported",
  scopes: ["read"],
  agentCheck: "session_id",
  operationId: "listImportedEvents",
  summary: "The history of another environment that came with a session's snapshot",
  description: "In pages: large events make one shorter than `limit`; after the last comes an empty one.",
  tags: ["snapshots"],
  request: {
    params,
    query: z.strictObject({
      after: afterQuery("The last `position` already seen").default(0),
      limit: limitQuery(PAGE_SIZES.events),
    }),
  },
  responses: { 200: json(z.array(ImportedEvent), "Events in order"), ...problems("invalid", "not_found") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(take, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      const { tag, with_events } = c.req.valid("query");
      const taken = await exportSession(core, {
        sessionId,
        tags: readTags(tag),
        withEvents: with_events === "true",
      });
      return answer(c, core, taken) as never;
    })
    .openapi(imported, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      await getSession(core, sessionId);
      return c.json(await listImportedEvents(core, { sessionId, ...c.req.valid("query") }), 200);
    });
}

/** The route that takes a whole session: its body is read as it comes, under a limit of its own. */
export function createStreamedRoutes(core: Core): Router {
  const router = createRouter();
  registerSnapshotSchema(router);
  router.openAPIRegistry.registerPath(restore);
  router.post(restore.path, async (c) => {
    const dryRun = readDryRun(c);
    return c.json(await importSession(core, readBody(c, core), { dryRun }), 200);
  });
  return router;
}

function readTags(tag: string | string[] | undefined): Record<string, string> {
  try {
    return parseTags([tag ?? []].flat());
  } catch (error) {
    throw new PurserError("invalid", `Cannot use tag: ${messageOf(error)}`, {
      details: { issues: [{ path: "tag", message: messageOf(error) }] },
    });
  }
}

/** The document as an answer: gzipped where the client takes that, not at all where it has it already. */
function answer(c: Context, core: Core, taken: SessionExport): Response {
  const { agent_id, session_id } = taken.head as { agent_id: string; session_id: string };
  const headers: Record<string, string> = {
    etag: taken.etag,
    vary: "accept-encoding",
    "cache-control": "no-cache",
  };
  if (hasEtag(c.req.header("if-none-match"), taken.etag)) {
    taken.close();
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = "application/json";
  headers["content-disposition"] = `attachment; filename="${fileNameOf(agent_id, session_id)}"`;
  headers["purser-message-count"] = String(taken.messageCount);
  if (c.req.method === "HEAD") {
    taken.close();
    return new Response(null, { headers });
  }
  const document = streamFrom(
    taken,
    (error) => core.log.error("A snapshot broke off", { session_id, reason: messageOf(error) }),
  );
  if (!takesGzip(c.req.header("accept-encoding"))) return new Response(document, { headers });
  headers["content-encoding"] = "gzip";
  // Said of bytes that are: workerd would compress them once more.
  const init: ResponseInit & { encodeBody: "manual" } = { headers, encodeBody: "manual" };
  return new Response(document.pipeThrough(new CompressionStream("gzip")), init);
}

/** Reads on only as fast as the client does. */
function streamFrom(
  taken: SessionExport,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = taken.write();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onError(error);
        throw error; // the connection breaks: a document without its end is taken by nobody for whole
      }
    },
    async cancel() {
      await chunks.return(undefined);
      taken.close();
    },
  }, { highWaterMark: 0 });
}

/** Weak comparison, as RFC 9110 asks for it here. */
function hasEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, "");
  return header.trim() === "*" || header.split(",").some((tag) => opaque(tag) === opaque(etag));
}

function takesGzip(header: string | undefined): boolean {
  const [, parameters] = /(?:^|,)\s*gzip\s*(;[^,]*)?(?=,|$)/i.exec(header ?? "") ?? [undefined, undefined];
  return /(?:^|,)\s*gzip/i.test(header ?? "") && !/;\s*q=0(\.0*)?\s*$/i.test(parameters ?? "");
}

/** A name that every file system takes: ids may have colons. */
function fileNameOf(agentId: string, sessionId: string): string {
  return `${agentId}_${sessionId}.json`.replaceAll(":", "-");
}

function readDryRun(c: Context): boolean {
  // One that is given twice stays a list, and is refused: it is not clear which is meant.
  const given = Object.entries(c.req.queries()).map((
    [key, values],
  ) => [key, values.length > 1 ? values : values[0]]);
  const query = restore.request.query.safeParse(Object.fromEntries(given));
  if (!query.success) throw invalidInput(query.error, "the request");
  return query.data.dry_run === "true";
}

/** The request's body as it comes. */
function readBody({ req: { raw } }: Context, core: Core): AsyncIterable<Uint8Array> {
  const maxBytes = core.maxSnapshotBytes;
  if (!isJsonBody(raw)) throw notJson();
  const encoding = raw.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new PurserError(
      "unsupported_media_type",
      `Cannot read the body: its encoding is ${encoding}; use gzip`,
    );
  }
  if (Number(raw.headers.get("content-length")) > maxBytes) throw snapshotTooLarge(maxBytes);
  const body = unbroken(raw.body ?? new Blob([]).stream(), core);
  return encoding === "gzip" ? gunzip(body) : body;
}

/** A body that breaks off is the sender's fault, or this process's end; nothing that the log has to hear of. */
async function* unbroken<Bytes>(body: ReadableStream<Bytes>, core: Core): AsyncGenerator<Bytes> {
  try {
    yield* body;
  } catch (error) {
    throw core.stopping.aborted
      ? new PurserError("unavailable", "Cannot read the body: this process is ending; try again", {
        cause: error,
      })
      : new PurserError("invalid", "Cannot read the body: it broke off; nothing was changed", {
        cause: error,
      });
  }
}
