import { PlanWindow, PlanWindowsBody } from "../../contract/imports/plan_windows.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import { listPlanWindows, recordPlanWindows } from "../../plans/mod.ts";
import { windowFromWire } from "../../plans/sources/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { isNumberPosition, pageOf, readCursor } from "../cursors.ts";
import { outOfReach, viewerOfRequest } from "../middleware/agent_reach.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const list = createRoute({
  method: "get",
  path: "/plans",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "listPlans",
  summary: "List the windows of plans, as their providers have measured them",
  description:
    "The latest measurement of each: of the status line of Claude Code, of the logs of Codex, and of the answers that the gateway " +
    "has passed on. Nothing is estimated. A key of one agent sees the plan of its agent, and what it has reported or measured.",
  tags: ["costs"],
  request: { query: z.strictObject(pageQuery(PAGE_SIZES.costs)) },
  responses: { 200: page(z.array(PlanWindow), "A page of windows"), ...problems("invalid") },
});

const report = createRoute({
  method: "post",
  path: "/plans",
  scopes: ["report", "run"],
  agentCheck: "handler",
  operationId: "reportPlanWindows",
  summary: "Report windows of a plan that a status line or a log has",
  description:
    "May be repeated, in any order: an older measurement never replaces a newer one. Reports of a key are apart from those of others.",
  tags: ["costs"],
  request: {
    body: jsonBody(PlanWindowsBody, {
      agent_id: "claude-code",
      source: "statusline",
      machine: "laptop",
      windows: [{
        window: "five_hour",
        used_pct: 42.5,
        resets_at: "2026-11-21T12:00:00.000Z",
        length_minutes: 300,
      }],
    }),
  },
  responses: { 204: { description: "Recorded" }, ...problems("invalid", ...BODY_CODES) },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(list, async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const offset = readCursor(cursor, isNumberPosition) ?? 0;
      const windows = await listPlanWindows(core, viewerOfRequest(c), { offset, limit });
      return c.json(pageOf(c, windows, (_, count) => offset + count, windows.length === limit), 200);
    })
    .openapi(report, async (c) => {
      const { keyId, agentId: only } = viewerOfRequest(c);
      const { agent_id: agent, source, machine, account, windows } = c.req.valid("json");
      if (only !== undefined && agent !== only) throw outOfReach(`agent ${agent}`, only);
      const origin = { agent, source, owner: { machine }, account, reporterKeyId: keyId ?? undefined };
      await recordPlanWindows(core, origin, windows.map(windowFromWire), core.clock.now());
      return c.body(null, 204);
    });
}
