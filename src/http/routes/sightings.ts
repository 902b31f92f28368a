import { sightCalls, type Sighting } from "../../calls/mod.ts";
import { type SightingBody, SightingsBody, SightingsResult } from "../../contract/costs/sightings.ts";
import { toUsd } from "../../kernel/money.ts";
import { nameAfter, planUsd, usageFromWire } from "../../ledger/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute } from "../create_route.ts";
import { outOfReach, senderOf } from "../middleware/agent_reach.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const sight = createRoute({
  method: "post",
  path: "/sightings",
  scopes: ["report", "run"],
  agentCheck: "handler",
  operationId: "sightCalls",
  summary: "Book what logs and exporters have seen of calls",
  description:
    "A call is booked once, whichever source sees it first: what the gateway, a run or `meter()` has booked is completed, never " +
    "booked again. A later sighting that says more corrects the call; the same one changes nothing. A key corrects only what " +
    "it has reported itself, unless a more trusted source says at least as much, for no lower cost. With a key of one " +
    "agent, the sessions are named `AGENT_ID:SESSION`.",
  tags: ["costs"],
  request: {
    body: jsonBody(SightingsBody, {
      origin: { source: "log", name: "claude-code", machine: "laptop", agent_id: "claude-code" },
      sightings: [{
        ref: "msg_01ABcdEF",
        response_id: "msg_01ABcdEF",
        model: "claude-sonnet-5",
        at: "2026-11-21T09:30:00.000Z",
        input_tokens: 1200,
        output_tokens: 80,
        session: "3f2a1c",
        folder: "/home/ann/shop",
      }],
    }),
  },
  responses: {
    200: json(SightingsResult, "Numbers of sightings by what they have changed"),
    ...problems("invalid", "conflict", ...BODY_CODES),
  },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(sight, async (c) => {
    const sender = senderOf(c);
    const { agentId: only } = sender;
    const { origin, sightings } = c.req.valid("json");
    if (only !== undefined && origin.agent_id !== only) throw outOfReach(`agent ${origin.agent_id}`, only);
    const { reasons, costNanoUsd, planNanoUsd, ...result } = await sightCalls(await core.whole(), {
      source: origin.source,
      name: origin.name,
      agentId: origin.agent_id,
      ...(origin.machine !== undefined && { machine: origin.machine }),
      sender,
    }, sightings.map((body) => toSighting(body, only)));
    return c.json({
      ...result,
      cost_usd: result.booked > 0 && result.unpriced === result.booked ? null : toUsd(costNanoUsd),
      ...planUsd(planNanoUsd),
      reasons: [...reasons].map(([index, reason]) => ({ index, reason })),
    }, 200);
  });
}

function toSighting(body: SightingBody, only: string | undefined): Sighting {
  const { subagent, session } = body;
  return {
    ref: body.ref,
    responseId: body.response_id,
    requestId: body.request_id,
    account: body.account,
    fingerprint: body.fingerprint,
    provider: body.provider,
    model: body.model,
    at: Date.parse(body.at),
    durationMs: body.duration_ms,
    usage: usageFromWire(body),
    quality: body.quality ?? "exact",
    marks: body.marks,
    serviceTier: body.service_tier,
    speed: body.speed,
    inferenceGeo: body.inference_geo,
    tools: body.tools,
    statedCostUsd: body.stated_cost_usd,
    isPlan: body.billing === "plan" || undefined,
    session: session !== undefined && only !== undefined ? nameAfter(only, session) : session,
    isCopy: body.is_copy,
    isFoundByCounts: body.is_found_by_counts,
    subagent,
    folder: body.folder,
    branch: body.branch,
    tags: body.tags,
  };
}
