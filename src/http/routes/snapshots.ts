import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Context } from "hono";
import type { Core } from "../../service/mod.ts";
import { invalidField, messageOf, PurserError } from "../../kernel/errors.ts";
import { getSession } from "../../sessions/mod.ts";
import {
  exportSession,
  type ImportOptions,
  importSession,
  listImportedEvents,
  parseTags,
  type SessionExport,
} from "../../snapshots/mod.ts";
import { gunzip } from "../../snapshots/files/mod.ts";
import { snapshotTooLarge } from "../../snapshots/document/mod.ts";
import { settleClaim } from "../../keys/idempotency/mod.ts";
import { answerOnce, createFingerprint, hasKey, IDEMPOTENCY_KEY } from "../middleware/idempotency.ts";
import { type ApiEnv, asAuthor, leaseOf } from "../middleware/principal.ts";
import { matchesWeakly } from "../middleware/response_headers.ts";
import { streamChunks } from "../middleware/streams.ts";
import { bodyChunks, lengthOf } from "../middleware/body_chunks.ts";
import { isJsonBody, notJson } from "../middleware/json_type.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { afterQuery, limitQuery } from "../pagination.ts";
import { createRouter, type Router } from "../router.ts";
import { invalidInput } from "../../contract/schema_issues.ts";
import { SessionId } from "../../contract/parts.ts";
import {
  EXAMPLE,
  ImportedEvent,
  ImportResult,
  registerSnapshotSchema,
  SnapshotReference,
} from "../../contract/snapshot/snapshots.ts";

const params = z.object({ session_id: SessionId });

const exportRoute = createRoute({
  method: "get",
  path: "/agents/{session_id}/snapshot",
  scopes: ["read"],
  agentCheck: "session_id",
  isLarge: true,
  operationId: "exportSession",
  summary: "Export a whole session as one portable document",
  description:
    "Streams the session's state at this moment, also while a run is in progress; read-only. Canonical " +
    "JSON (RFC 8785) with its hash in `integrity`.",
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
        description: "Includes the session's event log",
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
      description: "Unchanged since the given ETag",
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
  description: "Checks the whole document, then replaces the session's state atomically. A run in " +
    "progress there is fenced off and ends as `cancelled`. The body may be sent with `Content-Encoding: gzip`.",
  tags: ["snapshots"],
  request: {
    query: z.strictObject({
      dry_run: z.enum(["true", "false"]).optional().openapi({
        description: "Return what would happen; write nothing",
      }),
      keep_longer: z.enum(["true", "false"]).optional().openapi({
        description: "Refuse to replace a session that has more messages than the snapshot",
      }),
    }),
    headers: z.object({
      ...IDEMPOTENCY_KEY,
      "content-encoding": z.string().optional().openapi({
        description: "`gzip` if the body is compressed",
        example: "gzip",
      }),
    }),
    body: {
      required: true,
      content: { "application/json": { schema: SnapshotReference, example: EXAMPLE } },
    },
  },
  responses: {
    200: {
      ...json(ImportResult, "The result, or with `dry_run` the expected one"),
      headers: headers("Idempotency-Replayed"),
    },
    ...problems("invalid", "conflict", "idempotency_mismatch", "unsupported", ...BODY_CODES),
  },
});

const imported = createRoute({
  method: "get",
  path: "/sessions/{session_id}/events/imported",
  scopes: ["read"],
  agentCheck: "session_id",
  isLarge: true,
  operationId: "listImportedEvents",
  summary: "List the events of another environment that came with a session's snapshot",
  description: "Paginated: with large events a page is shorter than `limit`; an empty page is the end.",
  tags: ["snapshots"],
  request: {
    params,
    query: z.strictObject({
      after: afterQuery("The last `position` received").default(0),
      limit: limitQuery(PAGE_SIZES.events),
    }),
  },
  responses: { 200: json(z.array(ImportedEvent), "Events in order"), ...problems("invalid", "not_found") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(exportRoute, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      const { tag, with_events } = c.req.valid("query");
      const exported = await exportSession(core, {
        sessionId,
        tags: readTags(tag),
        withEvents: with_events === "true",
      });
      return respond(c, core, exported) as never;
    })
    .openapi(imported, async (c) => {
      const { session_id: sessionId } = c.req.valid("param");
      await getSession(core, sessionId);
      return c.json(await listImportedEvents(core, { sessionId, ...c.req.valid("query") }), 200);
    });
}

/** Creates the route that restores a session: its body is read as a stream, under a limit of its own. */
export function createStreamedRoutes(core: Core): Router {
  const router = createRouter();
  registerSnapshotSchema(router);
  router.openAPIRegistry.registerPath(restore);
  router.post(restore.path, async (c) => {
    const { dry_run, keep_longer } = readQuery(c);
    const fingerprint = createFingerprint();
    const body = readBody(c, core, hasKey(c) ? fingerprint.pass : (bytes) => bytes);
    const once: ImportOptions["once"] = (restore) =>
      answerOnce(
        c,
        core,
        fingerprint.digest,
        (claim) => restore(claim && ((result) => settleClaim(claim, result))),
      );
    return c.json(
      await importSession(asAuthor(c, core), body, {
        dryRun: dry_run === "true",
        keepLonger: keep_longer === "true",
        once,
      }),
      200,
    );
  });
  return router;
}

function readTags(tag: string | string[] | undefined): Record<string, string> {
  try {
    return parseTags([tag ?? []].flat());
  } catch (error) {
    throw invalidField("tag", messageOf(error));
  }
}

/** Returns the document's response: gzipped where the client accepts it, 304 where the client has it. */
function respond(c: Context<ApiEnv>, core: Core, exported: SessionExport): Response {
  const { agent_id, session_id } = exported.head as { agent_id: string; session_id: string };
  const headers: Record<string, string> = {
    etag: exported.etag,
    vary: "accept-encoding",
    "cache-control": "no-cache",
  };
  const known = c.req.header("if-none-match");
  if (known !== undefined && matchesWeakly(known, exported.etag)) {
    exported.close();
    return new Response(null, { status: 304, headers });
  }
  headers["content-type"] = "application/json";
  headers["content-disposition"] = `attachment; filename="${fileNameOf(agent_id, session_id)}"`;
  headers["purser-message-count"] = String(exported.messageCount);
  if (c.req.method === "HEAD") {
    exported.close();
    return new Response(null, { headers });
  }
  const document = streamChunks(exported.write(leaseOf(c)?.answer), {
    onError: (error) => core.log.error("A snapshot broke off", { session_id, reason: messageOf(error) }),
    onEnd: () => exported.close(),
  });
  if (!takesGzip(c.req.header("accept-encoding"))) return new Response(document, { headers });
  headers["content-encoding"] = "gzip";
  // The bytes are encoded already: workerd would compress them again.
  const init: ResponseInit & { encodeBody: "manual" } = { headers, encodeBody: "manual" };
  return new Response(document.pipeThrough(new CompressionStream("gzip")), init);
}

function takesGzip(header: string | undefined): boolean {
  const [, parameters] = /(?:^|,)\s*gzip\s*(;[^,]*)?(?=,|$)/i.exec(header ?? "") ?? [undefined, undefined];
  return /(?:^|,)\s*gzip/i.test(header ?? "") && !/;\s*q=0(\.0*)?\s*$/i.test(parameters ?? "");
}

/** Returns a name that is valid on every file system: ids may have colons. */
function fileNameOf(agentId: string, sessionId: string): string {
  return `${agentId}_${sessionId}.json`.replaceAll(":", "-");
}

function readQuery(c: Context): z.infer<typeof restore.request.query> {
  // A parameter that is given twice stays a list, which the schema refuses.
  const given = Object.entries(c.req.queries()).map((
    [key, values],
  ) => [key, values.length > 1 ? values : values[0]]);
  const query = restore.request.query.safeParse(Object.fromEntries(given));
  if (!query.success) throw invalidInput(query.error, "the request");
  return query.data;
}

/** Returns the request's body as a stream of uncompressed bytes; `pass` sees them as they were sent. */
function readBody(
  c: Context<ApiEnv>,
  core: Core,
  pass: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const { raw } = c.req;
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
  // Of a document, at most one message or event is held.
  leaseOf(c)?.beginBody(lengthOf(c), Math.min(core.maxContextBytes, maxBytes));
  const body = pass(bodyChunks(c, core));
  return encoding === "gzip" ? gunzip(body) : body;
}
