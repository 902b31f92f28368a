import { reportCalls, type ReportedCall } from "../../calls/mod.ts";
import type { Core } from "../../service/mod.ts";
import { callScopes, usageFromWire, type Viewer } from "../../ledger/mod.ts";
import { readOwners, readRootsOfRuns } from "../../sessions/mod.ts";
import {
  isNamedAfter,
  keyTagsOf,
  notOwn,
  onlyAgentOf,
  outOfReach,
  viewerOfRequest,
} from "../middleware/agent_reach.ts";
import { createRoute } from "../create_route.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { BookedReport, type CostEventBody, CostEventsBody } from "../../contract/cost_events.ts";

const report = createRoute({
  method: "post",
  path: "/costs/events",
  scopes: ["report", "run"],
  agentCheck: "handler",
  operationId: "reportCalls",
  summary: "Book calls made elsewhere",
  description:
    "All or none; idempotent by `call_id`. Without `cost_usd` a call is priced here; with it the " +
    "reported cost is booked, rounded half to even to nano-USD; 0 beside tokens of a model that has a price is no cost, and the " +
    "call is priced. A call that is already booked is a " +
    "duplicate if the content is the same, so a cost event of `GET /sessions/{session_id}/costs` can " +
    "be sent back; for a report without `cost_usd` the price does not matter. With a larger output, and nothing else that " +
    "differs, it corrects the call that the same key has reported; so does the billing `plan` of a call that it has reported as billed. With a key of one agent, new ids of calls, " +
    "sessions and runs are the agent's id, a colon, and a name without a colon.",
  tags: ["costs"],
  request: {
    body: jsonBody(CostEventsBody, [{
      call_id: "my-call-1",
      at: "2026-11-21T09:30:00.000Z",
      agent_id: "researcher",
      provider: "openai",
      model: "gpt-6-luna",
      input_tokens: 1200,
      output_tokens: 80,
    }]),
  },
  responses: {
    201: json(BookedReport, "Numbers of new calls and of duplicates"),
    ...problems("invalid", "conflict", ...BODY_CODES),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(report, async (c) => {
    const viewer = viewerOfRequest(c);
    const bodies = c.req.valid("json");
    const roots = await readRootsOfRuns(core, [...new Set(bodies.flatMap(({ run_id }) => run_id ?? []))]);
    const reports = bodies.map((body) => toReport(body, viewer, roots));
    const only = onlyAgentOf(c);
    if (only !== undefined) await checkReports(core, reports, only);
    return c.json(await reportCalls(await core.whole(), "report", reports, keyTagsOf(c)), 201);
  });
}

function toReport(
  body: CostEventBody,
  viewer: Viewer,
  rootsOfRuns: ReadonlyMap<string, string>,
): ReportedCall {
  const { agent_id: agentId, session_id: sessionId = null, run_id: runId = null } = body;
  return {
    ...callScopes({ agentId, sessionId, runId }, viewer, rootsOfRuns.get(runId ?? "")),
    callId: body.call_id,
    at: Date.parse(body.at),
    step: body.step ?? null,
    tools: body.tools ?? [],
    ...(body.reservation_id !== undefined && { reservationId: body.reservation_id }),
    ...(body.response_id !== undefined && { responseId: body.response_id }),
    ...(body.request_id !== undefined && { requestId: body.request_id }),
    ...((body.account ?? body.project) !== undefined && {
      upstream: { account: body.account, project: body.project },
    }),
    ...(body.requested_service_tier !== undefined && { requestedTier: body.requested_service_tier }),
    ...(body.outcome !== undefined && { outcome: body.outcome, status: body.http_status }),
    provider: body.provider,
    model: body.model,
    usage: usageFromWire(body),
    ...(body.billing === "plan" ? { isPlan: true, costUsd: body.plan_usd } : { costUsd: body.cost_usd }),
    durationMs: body.duration_ms ?? null,
    isEstimated: body.estimated ?? false,
    ...(body.service_tier !== undefined && { serviceTier: body.service_tier }),
    ...(body.speed !== undefined && { speed: body.speed }),
    ...(body.inference_geo !== undefined && { inferenceGeo: body.inference_geo }),
    ...(body.unpriced_parts?.length && { unpricedParts: body.unpriced_parts }),
    ...(body.tags && Object.keys(body.tags).length > 0 && { tags: body.tags }),
    ...(body.list_cost_usd !== undefined && { listCostUsd: body.list_cost_usd }),
    ...(body.stated_cost_usd !== undefined && { statedCostUsd: body.stated_cost_usd }),
  };
}

/**
 * Refuses calls that a key of one agent may not report: another agent's, those that would count in another agent's session
 * or run, whose budget and alerts they would use up, and those whose new ids others may want to use. Throws `forbidden`, the
 * same for an id of another agent and a free one.
 */
async function checkReports(
  core: Pick<Core, "store">,
  reports: readonly ReportedCall[],
  only: string,
): Promise<void> {
  for (const [index, { agentId }] of reports.entries()) {
    if (agentId !== only) throw outOfReach(`agent ${agentId} of event [${index}]`, only);
  }
  const ids = (key: "sessionId" | "runId" | "callId") =>
    [...new Set(reports.map((report) => report[key]))].filter((id) => id !== null);
  const owners = await readOwners(core, {
    sessionIds: ids("sessionId"),
    runIds: ids("runId"),
    callIds: ids("callId"),
  });
  for (const { kind, id, agentId } of owners) {
    if (agentId === only || (agentId === null && isNamedAfter(id, only))) continue;
    throw notOwn(kind, id, only);
  }
}
