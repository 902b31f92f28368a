import { findAgentTags } from "../../agents/mod.ts";
import {
  type ElsewhereRequest,
  releaseElsewhere,
  type ReservedUntil,
  reserveElsewhere,
} from "../../budgets/reservations/mod.ts";
import { BudgetReservation, BudgetReservationBody, ReservationId } from "../../contract/budgets/budgets.ts";
import { modelOfCall } from "../../contract/budgets/subjects.ts";
import { type Tags, withAgentTags, withKeyTags } from "../../contract/tags/tags.ts";
import { RESERVATION_SECONDS } from "../../contract/limits.ts";
import { logCallEvent, refusalEvent } from "../../calls/mod.ts";
import { type Claim, settleClaim } from "../../keys/idempotency/mod.ts";
import { toIso } from "../../kernel/clock.ts";
import { BudgetExceededError, PurserError } from "../../kernel/errors.ts";
import { parseUsd } from "../../kernel/money.ts";
import { callScopes, type Viewer } from "../../ledger/mod.ts";
import type { Core } from "../../service/mod.ts";
import { findLogOwner, findSessionOwner } from "../../sessions/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { headers } from "../../contract/headers.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody, optionalHeaders } from "../route_parts.ts";
import { answerOnce, fingerprintOf, IDEMPOTENCY_KEY } from "../middleware/idempotency.ts";
import {
  isNamedAfter,
  keyTagsOf,
  notOwn,
  onlyAgentOf,
  outOfReach,
  viewerOfRequest,
} from "../middleware/agent_reach.ts";
import { createRouter } from "../router.ts";

/* Reservations for calls that are made elsewhere; `./budgets.ts` mounts them. */

export const RESERVATIONS = "/budgets/reservations";

const post = createRoute({
  method: "post",
  path: RESERVATIONS,
  scopes: ["run"],
  agentCheck: "handler",
  operationId: "reserveBudget",
  summary: "Reserve for a call that is about to be made elsewhere",
  description:
    "Asks every budget that applies to the call, and never waits. The reservation counts until the call is reported with " +
    "its `reservation_id` (`POST /costs/events`), it is released, or its time is over. Budgets in `strict` mode count " +
    "`worst_case_usd`, others `estimate_usd`. Budgets of a model, a provider or a tag count it if it is given. An agent's `cost_budget_usd` is that of a run here, and has no part in it.",
  tags: ["budgets"],
  request: {
    ...optionalHeaders(IDEMPOTENCY_KEY),
    body: jsonBody(BudgetReservationBody, {
      agent_id: "researcher",
      estimate_usd: 0.02,
      worst_case_usd: 0.05,
    }),
  },
  responses: {
    201: {
      ...json(BudgetReservation, "The reservation"),
      headers: headers("Location", "Idempotency-Replayed"),
    },
    ...problems("invalid", "budget_exceeded", "conflict", "idempotency_mismatch", ...BODY_CODES),
  },
});

const release = createRoute({
  method: "delete",
  path: "/budgets/reservations/{reservation_id}",
  scopes: ["run"],
  agentCheck: "handler",
  operationId: "releaseReservation",
  summary: "Release a reservation whose call was not made",
  tags: ["budgets"],
  request: { params: z.object({ reservation_id: ReservationId }) },
  responses: {
    204: { description: "Released" },
    ...problems("not_found", ...BODY_CODES),
  },
});

/** Refuses a session that a key of one agent may not name: another agent's, or a new one that is not named after its own. */
export function checkOwnSession(sessionId: string, owner: string | null | undefined, only: string): void {
  const isOwn = owner === only || (owner === undefined && isNamedAfter(sessionId, only));
  if (!isOwn) throw notOwn("session", sessionId, only);
}

export function createReservationRoutes(core: Core) {
  return createRouter()
    .openapi(post, async (c) => {
      const body = c.req.valid("json");
      const { agent_id, session_id } = body;
      const only = onlyAgentOf(c);
      if (only !== undefined) {
        if (agent_id !== only) throw outOfReach(`agent ${agent_id}`, only);
        if (session_id != null) checkOwnSession(session_id, await findSessionOwner(core, session_id), only);
      }
      const reservation = await answerOnce(
        c,
        core,
        () => fingerprintOf(body),
        (claim) => reserve(core, body, { viewer: viewerOfRequest(c), keyTags: keyTagsOf(c), claim }),
      );
      c.header("location", `/budgets/reservations/${reservation.reservation_id}`);
      return c.json(reservation, 201);
    })
    .openapi(release, async (c) => {
      const { reservation_id } = c.req.valid("param");
      if (!await releaseElsewhere(await core.whole(), reservation_id, viewerOfRequest(c))) {
        throw new PurserError(
          "not_found",
          `Cannot find reservation ${reservation_id}: it is settled, released, or its time is over`,
        );
      }
      return c.body(null, 204);
    });
}

async function reserve(
  core: Core,
  body: BudgetReservationBody,
  { viewer, keyTags, claim }: { viewer: Viewer; keyTags: Tags | undefined; claim: Claim | undefined },
): Promise<BudgetReservation> {
  const { agent_id, session_id = null, worst_case_usd: worst, ttl_seconds } = body;
  const estimate = body.estimate_usd ?? worst!;
  const toAnswer = ({ reservationId, expiresAt }: ReservedUntil): BudgetReservation => ({
    reservation_id: reservationId,
    agent_id,
    session_id,
    estimate_usd: estimate,
    worst_case_usd: worst ?? null,
    expires_at: toIso(expiresAt),
  });
  const ofAgent = (await findAgentTags(core, [agent_id])).get(agent_id) ?? {};
  const request: ElsewhereRequest = {
    subjects: {
      ...modelOfCall(body),
      source: body.source ?? "report",
      billing: body.billing ?? "billed",
      tags: withKeyTags(withAgentTags(body.tags ?? {}, ofAgent), keyTags),
    },
    ...callScopes({ agentId: agent_id, sessionId: session_id, runId: null }, viewer),
    estimateNanoUsd: parseUsd(estimate, "estimate_usd"),
    worstNanoUsd: worst === undefined ? null : parseUsd(worst, "worst_case_usd"),
    ttlMs: (ttl_seconds ?? RESERVATION_SECONDS.default) * 1_000,
    alongWith: (made) =>
      claim
        ? settleClaim(claim, {
          sql: "SELECT ?1 WHERE EXISTS (SELECT 1 FROM reservations WHERE reservation_id = ?2)",
          args: [JSON.stringify(toAnswer(made)), made.reservationId],
        })
        : [],
  };
  const made = await reserveElsewhere(await core.whole(), request, {
    viewer,
    findLogOwner: () => findLogOwner(core, request),
  }).catch(async (error) => {
    if (error instanceof BudgetExceededError) {
      await logCallEvent(core, { ...request, runId: null }, refusalEvent(error));
    }
    throw error;
  });
  return toAnswer(made);
}
