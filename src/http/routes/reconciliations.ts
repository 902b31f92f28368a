import {
  getReconciliation,
  listPeriods,
  listReconciliations,
  listVariances,
  reopenPeriod,
} from "../../bills/mod.ts";
import { CAUSE_NAMES } from "../../contract/bills/causes.ts";
import {
  BillMonth,
  BillPeriod,
  PeriodBody,
  Reconciliation,
  ReconciliationBody,
  ReconciliationDetail,
  ReconciliationId,
  ReconciliationVariance,
  ReopenBody,
  SourceName,
} from "../../contract/bills/reconciliations.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Core } from "../../service/mod.ts";
import { checkBillSources } from "../check_bill_sources.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageByTime, pageOf, positionIn, readCursor } from "../cursors.ts";
import { asAuthor } from "../middleware/principal.ts";
import { limitQuery, page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const params = z.object({ reconciliation_id: ReconciliationId });
const tags: ["costs"] = ["costs"];
const EXAMPLE = { source: "csv", month: "2026-10" };

const create = createRoute({
  method: "post",
  path: "/reconciliations",
  scopes: ["admin"],
  operationId: "reconcileBill",
  summary: "Compare the bill of a month with the ledger",
  description:
    "Each difference gets its cause. The same lines and calls are compared once: the answer is then the earlier comparison. " +
    "With `correct`, estimates that the bill proves to be others are corrected.",
  tags,
  request: { body: jsonBody(ReconciliationBody, EXAMPLE) },
  responses: {
    200: json(ReconciliationDetail, "The comparison"),
    ...problems("invalid", "not_found", "conflict", "unsupported", ...BODY_CODES),
  },
});

const list = createRoute({
  method: "get",
  path: "/reconciliations",
  scopes: ["admin"],
  isLarge: true,
  operationId: "listReconciliations",
  summary: "List comparisons of bills with the ledger, newest first",
  tags,
  request: {
    query: z.strictObject({
      source: SourceName.optional(),
      month: BillMonth.optional(),
      ...pageQuery(PAGE_SIZES.repricings),
    }),
  },
  responses: { 200: page(z.array(Reconciliation), "A page of comparisons"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/reconciliations/{reconciliation_id}",
  scopes: ["admin"],
  operationId: "getReconciliation",
  summary: "Get a comparison with its largest variances",
  tags,
  request: { params },
  responses: { 200: json(ReconciliationDetail, "The comparison"), ...problems("not_found") },
});

const variances = createRoute({
  method: "get",
  path: "/reconciliations/{reconciliation_id}/variances",
  scopes: ["admin"],
  isLarge: true,
  operationId: "listVariances",
  summary: "List the variances of a comparison, the largest first",
  tags,
  request: {
    params,
    query: z.strictObject({ cause: z.enum(CAUSE_NAMES).optional(), ...pageQuery(PAGE_SIZES.repricings) }),
  },
  responses: {
    200: page(z.array(ReconciliationVariance), "A page of variances"),
    ...problems("invalid", "not_found"),
  },
});

const undo = createRoute({
  method: "post",
  path: "/reconciliations/{reconciliation_id}/undo",
  scopes: ["admin"],
  operationId: "undoCorrections",
  summary: "Take back the corrections of a comparison",
  description: "Books the opposite of each of them, once.",
  tags,
  request: { params },
  responses: {
    200: json(ReconciliationDetail, "The comparison"),
    ...problems("not_found", "conflict", "unsupported", ...BODY_CODES),
  },
});

const periods = createRoute({
  method: "get",
  path: "/bills/periods",
  scopes: ["admin"],
  operationId: "listBillPeriods",
  summary: "List the months of bills with their states, the latest first",
  tags,
  request: {
    query: z.strictObject({ source: SourceName.optional(), limit: limitQuery(PAGE_SIZES.repricings) }),
  },
  responses: { 200: json(z.array(BillPeriod), "The months"), ...problems("invalid") },
});

const close = createRoute({
  method: "post",
  path: "/bills/periods/close",
  scopes: ["admin"],
  operationId: "closeBillPeriod",
  summary: "Close a month as its latest comparison has it",
  description:
    "Before the provider's bill is final, the month is `soft_closed`: it can still be compared and closed again.",
  tags,
  request: { body: jsonBody(PeriodBody, EXAMPLE) },
  responses: {
    200: json(BillPeriod, "The month"),
    ...problems("invalid", "not_found", "conflict", "unsupported", ...BODY_CODES),
  },
});

const reopen = createRoute({
  method: "post",
  path: "/bills/periods/reopen",
  scopes: ["admin"],
  operationId: "reopenBillPeriod",
  summary: "Reopen a closed month",
  tags,
  request: { body: jsonBody(ReopenBody, { ...EXAMPLE, reason: "the provider has corrected its bill" }) },
  responses: { 200: json(BillPeriod, "The month"), ...problems("invalid", "conflict", ...BODY_CODES) },
});

async function loadComparison(core: Core) {
  checkBillSources(core, "reconcile a bill");
  return await import("../../bills/reconcile/mod.ts");
}

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(
      create,
      async (c) => {
        const { loadSource, reconcileBill } = await loadComparison(core);
        const input = c.req.valid("json");
        const terms = await loadSource(input.source, core.plugins);
        return c.json(await reconcileBill(asAuthor(c, await core.whole()), terms, input), 200);
      },
    )
    .openapi(list, async (c) => {
      const { source, month, ...given } = c.req.valid("query");
      const rows = await pageByTime(
        c,
        given,
        positionIn("created_at", "reconciliation_id"),
        (after, limit) => listReconciliations(core, { source, month, after, limit }),
      );
      return c.json(rows, 200);
    })
    .openapi(
      get,
      async (c) => c.json(await getReconciliation(core, c.req.valid("param").reconciliation_id), 200),
    )
    .openapi(variances, async (c) => {
      const { cause, limit, cursor } = c.req.valid("query");
      const id = c.req.valid("param").reconciliation_id;
      const after = readCursor(cursor, isNumberPosition);
      const rows = await listVariances(core, id, { cause, after, limit });
      const shown = rows.map(({ variance }) => variance);
      return c.json(pageOf(c, shown, (_, count) => rows[count - 1]!.nth, rows.length === limit), 200);
    })
    .openapi(undo, async (c) => {
      const id = c.req.valid("param").reconciliation_id;
      const { undoCorrections } = await loadComparison(core);
      await undoCorrections(asAuthor(c, await core.whole()), id);
      return c.json(await getReconciliation(core, id), 200);
    })
    .openapi(periods, async (c) => c.json(await listPeriods(core, c.req.valid("query")), 200))
    .openapi(close, async (c) => {
      const { source, month, account } = c.req.valid("json");
      const { closePeriod, loadSource } = await loadComparison(core);
      const terms = await loadSource(source, core.plugins);
      return c.json(await closePeriod(asAuthor(c, core), terms, { source, month, account }), 200);
    })
    .openapi(reopen, async (c) => {
      const { source, month, account, reason } = c.req.valid("json");
      return c.json(await reopenPeriod(asAuthor(c, core), { source, month, account }, reason), 200);
    });
}
