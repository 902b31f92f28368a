import {
  ImporterName,
  ImportFile,
  ImportFilesBody,
  MachineName,
} from "../../contract/imports/import_files.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { listImportFiles, saveImportFiles } from "../../ingest/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { pageOf, readCursor } from "../cursors.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const list = createRoute({
  method: "get",
  path: "/imports/files",
  scopes: ["report", "run"],
  agentCheck: "handler",
  operationId: "listImportFiles",
  summary: "List how far the log files of an import have been read, by path",
  description: "Those of the key of the request only.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      machine: MachineName,
      importer: ImporterName,
      ...pageQuery(PAGE_SIZES.importFiles),
    }),
  },
  responses: { 200: page(z.array(ImportFile), "A page of files"), ...problems("invalid") },
});

const save = createRoute({
  method: "put",
  path: "/imports/files",
  scopes: ["report", "run"],
  agentCheck: "handler",
  operationId: "saveImportFiles",
  summary: "Store how far log files have been read",
  description:
    "After their sightings were booked, so that an import that is cut off is repeated. Other files stay.",
  tags: ["costs"],
  request: {
    body: jsonBody(ImportFilesBody, {
      machine: "laptop",
      importer: "claude-code",
      files: [{
        path: "/home/ada/.claude/projects/-home-ada-shop/0b1c.jsonl",
        size: 1200,
        modified_at: 1_764_201_600_000,
        read_to: 1200,
        head: "1024:1x7k2p9f3zq8",
        is_ended: true,
        state: null,
        unmetered: 0,
        malformed: 0,
        fault: null,
      }],
    }),
  },
  responses: { 204: { description: "Stored" }, ...problems("invalid", ...BODY_CODES) },
});

const isPath = (value: unknown): value is string => typeof value === "string";

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(list, async (c) => {
      const { machine, importer, limit, cursor } = c.req.valid("query");
      const { keyId } = viewerOfRequest(c);
      const after = readCursor(cursor, isPath);
      const files = await listImportFiles(core, { keyId, machine, importer }, {
        after,
        limit,
      });
      return c.json(pageOf(c, files, ({ path }) => path, files.length === limit), 200);
    })
    .openapi(save, async (c) => {
      const { machine, importer, files } = c.req.valid("json");
      const { keyId } = viewerOfRequest(c);
      await saveImportFiles(core, { keyId, machine, importer }, files);
      return c.body(null, 204);
    });
}
