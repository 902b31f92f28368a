import { sightCalls, type Sighting } from "../../calls/mod.ts";
import { SightedCalls, type SightingBody, SightingsBody } from "../../contract/sightings.ts";
import { toUsd } from "../../kernel/money.ts";
import { fromOtherModels } from "../../ledger/mod.ts";
import { USAGE_DETAILS } from "../../pricing/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute } from "../create_route.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const send = createRoute({
  method: "post",
  path: "/sightings",
  scopes: ["run"],
  operationId: "sendSightings",
  summary: "Book the calls that logs tell of",
  description:
    "The first sighting of a call books it; later ones, also of others, correct or complete it. A sighting that no call can be " +
    "made of is refused by itself. May be repeated.",
  tags: ["costs"],
  request: {
    body: jsonBody(SightingsBody, {
      machine: "laptop",
      importer: "claude-code",
      sightings: [{
        ref: "msg_01XFDUDYJgAACzvnptvVoYEL",
        response_id: "msg_01XFDUDYJgAACzvnptvVoYEL",
        model: "claude-sonnet-5",
        at: 1_764_201_600_000,
        input_tokens: 1_200,
        output_tokens: 80,
        quality: "exact",
      }],
    }),
  },
  responses: { 200: json(SightedCalls, "What they have changed"), ...problems("invalid", ...BODY_CODES) },
});

export function createRoutes(core: Core) {
  return createRouter().openapi(send, async (c) => {
    const { machine, importer, sightings } = c.req.valid("json");
    const { keyId } = viewerOfRequest(c);
    const origin = {
      source: "log" as const,
      name: importer,
      agentId: importer,
      machine,
      ...(keyId && { keyId }),
    };
    const { outcomes: _, reasons, refused: __, costNanoUsd, ...counts } = await sightCalls(
      await core.whole(),
      origin,
      sightings.map(toSighting),
    );
    const refused = [...reasons].map(([index, reason]) => ({ index, reason }));
    const cost_usd = counts.booked > 0 && counts.unpriced === counts.booked ? null : toUsd(costNanoUsd);
    return c.json({ ...counts, cost_usd, refused }, 200);
  });
}

function toSighting(body: SightingBody): Sighting {
  const details = USAGE_DETAILS.flatMap((name) => body[name] ? [[name, body[name]]] : []);
  const { other_counts, other_models } = body;
  return {
    ref: body.ref,
    responseId: body.response_id,
    requestId: body.request_id,
    fingerprint: body.fingerprint,
    provider: body.provider,
    model: body.model,
    at: body.at,
    durationMs: body.duration_ms,
    usage: {
      inputTokens: body.input_tokens,
      outputTokens: body.output_tokens,
      cacheReadTokens: body.cache_read_tokens ?? 0,
      cacheWriteTokens: body.cache_write_tokens ?? 0,
      cacheWrite1hTokens: body.cache_write_1h_tokens ?? 0,
      reasoningTokens: body.reasoning_tokens ?? 0,
      ...(details.length > 0 && { details: Object.fromEntries(details) }),
      ...(other_counts && { others: other_counts }),
      ...(other_models?.length && { models: fromOtherModels(other_models) }),
    },
    quality: body.quality,
    marks: body.marks,
    serviceTier: body.service_tier,
    speed: body.speed,
    inferenceGeo: body.inference_geo,
    tools: body.tools,
    statedCostUsd: body.stated_cost_usd,
    isPlan: body.is_plan,
    session: body.session_id,
    isCopy: body.is_copy,
    subagent: body.subagent,
    folder: body.folder,
    branch: body.branch,
    tags: body.tags,
  };
}
