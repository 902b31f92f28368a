import { AuditEntry } from "../../contract/service.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { Label, QueryTime } from "../../contract/parts.ts";
import { AUDIT_KINDS } from "../../contract/values.ts";
import { listAudit } from "../../service/audit/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { problems } from "../problem_responses.ts";
import { createRouter } from "../router.ts";

const list = createRoute({
  method: "get",
  path: "/audit",
  scopes: ["admin"],
  isLarge: true,
  operationId: "listAuditEntries",
  summary: "List who has changed which budget, rule, key, agent or price",
  description:
    "An entry is committed with its change, is never changed, and is kept for good. Long texts are cut.",
  tags: ["service"],
  request: {
    query: z.strictObject({
      kind: z.enum(AUDIT_KINDS).optional(),
      subject: Label.optional().openapi({
        description: "The id of what was changed, or its name at that time",
        example: "Day",
      }),
      by: Label.optional().openapi({
        description: "The id of an API key, its name at that time, `user@host`, or an `actor`",
        example: "anna@laptop",
      }),
      from: QueryTime.optional().openapi({ description: "Inclusive; a date, or a time with its zone" }),
      to: QueryTime.optional().openapi({ description: "Exclusive; a date, or a time with its zone" }),
      ...pageQuery(PAGE_SIZES.audit),
    }),
  },
  responses: { 200: page(z.array(AuditEntry), "Entries, newest first"), ...problems("invalid") },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(list, async (c) => {
    const { limit, cursor, ...filter } = c.req.valid("query");
    const before = readCursor(cursor, isNumberPosition);
    const entries = await listAudit(core, { ...filter, before, limit });
    return c.json(pageOf(c, entries, ({ position }) => position, entries.length === limit), 200);
  });
}
