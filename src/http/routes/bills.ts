import { type KeptBillImport, type KeptBillLine, listImports, readBillLines } from "../../bills/mod.ts";
import {
  BillAccount,
  BillImport,
  BillImportBody,
  BillImportId,
  BillLine,
  type BillLineBody,
  BillLinesBody,
  BillSourceName,
  Month,
} from "../../contract/imports/bills.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { BILL_LINE_STATES } from "../../contract/values.ts";
import { QueryTime } from "../../contract/parts.ts";
import { toIso } from "../../kernel/clock.ts";
import { toCamelCase } from "../../kernel/text.ts";
import type { Core } from "../../service/mod.ts";
import { checkBillSources } from "../check_bill_sources.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageByTime, pageOf, positionIn, readCursor } from "../cursors.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const start = createRoute({
  method: "post",
  path: "/bills/imports",
  scopes: ["admin"],
  operationId: "importBill",
  summary: "Import a provider's bill",
  description:
    "Without `file`, the server asks the provider's API with the key of its own environment, for some seconds: an import with the " +
    "status `in_progress` goes on by the same request, after `retry_after_seconds`. Its lines are seen once it is done. With `file`, the lines " +
    "follow by `POST /bills/imports/{import_id}/lines`, from the number `lines` on; a file that was imported before is answered as done.",
  tags: ["costs"],
  request: {
    body: jsonBody(BillImportBody, {
      source: "csv",
      account: "mistral",
      file: { sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", how: "" },
    }),
  },
  responses: {
    200: json(BillImport, "The import"),
    ...problems("invalid", "conflict", "provider_error", "unsupported", ...BODY_CODES),
  },
});

const add = createRoute({
  method: "post",
  path: "/bills/imports/{import_id}/lines",
  scopes: ["admin"],
  operationId: "addBillLines",
  summary: "Add lines of a file to its import",
  description: "With `is_last`, all lines of the import are shown at once; before, none is seen.",
  tags: ["costs"],
  request: {
    params: z.object({ import_id: BillImportId }),
    body: jsonBody(BillLinesBody, {
      offset: 0,
      is_last: true,
      lines: [{
        series: "cost",
        category: "usage",
        starts_at: "2026-11-25T00:00:00.000Z",
        ends_at: "2026-11-26T00:00:00.000Z",
        model: "mistral-large-latest",
        amount: "1.25",
        currency: "USD",
      }],
    }),
  },
  responses: {
    200: json(BillImport, "The import"),
    ...problems("invalid", "not_found", "conflict", "unsupported", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/bills/imports",
  scopes: ["read"],
  operationId: "listBillImports",
  summary: "List imports of bills, newest first",
  tags: ["costs"],
  request: {
    query: z.strictObject({ source: BillSourceName.optional(), ...pageQuery(PAGE_SIZES.billImports) }),
  },
  responses: { 200: page(z.array(BillImport), "A page of imports"), ...problems("invalid") },
});

const lines = createRoute({
  method: "get",
  path: "/bills/lines",
  scopes: ["read"],
  isLarge: true,
  operationId: "listBillLines",
  summary: "List lines of bills",
  description: "An amount in another currency than USD is kept and shown, and is in no sum.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      source: BillSourceName.optional(),
      account: BillAccount.optional(),
      month: Month.optional(),
      from: QueryTime.optional().openapi({ description: "Of their start" }),
      to: QueryTime.optional(),
      state: z.enum(BILL_LINE_STATES).optional().openapi({
        description: "Default: `current`; with `month`, also `closed` and `reversal`, which count there",
      }),
      ...pageQuery(PAGE_SIZES.billLines),
    }),
  },
  responses: { 200: page(z.array(BillLine), "A page of lines"), ...problems("invalid") },
});

async function loadSources(core: Core) {
  checkBillSources(core, "import a bill");
  return await import("../../bills/import/mod.ts");
}

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(start, async (c) => {
      const { from, to, file, by_minute: isByMinute, ...of } = c.req.valid("json");
      const { beginFile, stepImport } = await loadSources(core);
      const window = from === undefined ? {} : { from: Date.parse(from), to: Date.parse(to!) };
      const done = file
        ? await beginFile(core, { ...of, ...window, ...file })
        : await stepImport(core, { ...of, ...window as { from: number; to: number }, isByMinute });
      return c.json(importToWire(done), 200);
    })
    .openapi(add, async (c) => {
      const { lines, is_last: isLast, ...part } = c.req.valid("json");
      const { addLines } = await loadSources(core);
      const all = { ...part, lines: lines.map(lineFromWire), isLast };
      return c.json(importToWire(await addLines(core, c.req.valid("param").import_id, all)), 200);
    })
    .openapi(list, async (c) => {
      const { source, ...query } = c.req.valid("query");
      const read = async (before: [number, string] | undefined, limit: number) =>
        (await listImports(core, { source, before, limit })).map(importToWire);
      return c.json(await pageByTime(c, query, positionIn("created_at", "import_id"), read), 200);
    })
    .openapi(lines, async (c) => {
      const { limit, cursor, ...filter } = c.req.valid("query");
      const after = readCursor(cursor, isNumberPosition);
      const read = (await readBillLines(core, filter, { after, limit })).map(lineToWire);
      return c.json(pageOf(c, read, ({ position }) => position, read.length === limit), 200);
    });
}

function importToWire(kept: KeptBillImport & { retryAfterMs?: number; reason?: string }): BillImport {
  const { importId, source, account, status, sha256 = null, lines, unknown, error } = kept;
  const time = (at: number | null) => at === null ? null : toIso(at);
  return {
    import_id: importId,
    ...{ source, account, status, sha256, lines, unknown, error },
    from: toIso(kept.from),
    to: toIso(kept.to),
    refreshed_at: time(kept.refreshedAt),
    new_lines: kept.newLines,
    revised_lines: kept.revisedLines,
    created_at: toIso(kept.createdAt),
    ended_at: time(kept.endedAt),
    retry_after_seconds: kept.retryAfterMs === undefined ? null : kept.retryAfterMs / 1_000,
    reason: kept.reason ?? null,
  };
}

const FIELDS = Object.keys(BillLine.shape) as (keyof BillLine)[];

function lineToWire(line: KeptBillLine): BillLine {
  const kept = line as unknown as Record<string, unknown>;
  const fields = FIELDS.map((name) => [name, kept[toCamelCase(name)] ?? null]);
  return {
    ...Object.fromEntries(fields),
    starts_at: toIso(line.startsAt),
    ends_at: toIso(line.endsAt),
    is_equivalent: line.isEquivalent ?? false,
  };
}

function lineFromWire({ starts_at, ends_at, ...line }: z.infer<typeof BillLineBody>) {
  const fields = Object.entries(line).map(([name, value]) => [toCamelCase(name), value]);
  return { ...Object.fromEntries(fields), startsAt: Date.parse(starts_at), endsAt: Date.parse(ends_at) };
}
