import type { Context } from "hono";
import {
  approveTicket,
  denyTicket,
  getTicket,
  listTickets,
  type TicketReader,
} from "../../budgets/tickets/mod.ts";
import { Approval, ApproveBody, DenyBody, TicketId } from "../../contract/budgets/approvals.ts";
import { PAGE_SIZES } from "../../contract/limits.ts";
import type { Tags } from "../../contract/tags/tags.ts";
import { TICKET_STATES } from "../../contract/values.ts";
import { allows, type Principal } from "../../keys/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { pageByTime, positionIn } from "../cursors.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { type ApiEnv, asAuthor, principalOf } from "../middleware/principal.ts";
import { page, pageQuery } from "../pagination.ts";
import { BODY_CODES, problems } from "../problem_responses.ts";
import { json, jsonBody } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { checkLimitOfKeys } from "./budget_raises.ts";

/* The tickets of budgets whose action is ask. */

const params = z.object({ ticket_id: TicketId });

const WITHIN =
  "A key with the scope `approve` and tags answers tickets whose call has these tags, and without `read` sees no others; `user` " +
  "is its own person, and no limit beside other tags.";

const list = createRoute({
  method: "get",
  path: "/approvals",
  scopes: ["read", "approve"],
  agentCheck: "handler",
  operationId: "listApprovals",
  summary: "List the tickets of budgets that ask for more, newest first",
  description: `A key of one agent sees those of its own calls. ${WITHIN}`,
  tags: ["budgets"],
  request: {
    query: z.strictObject({ state: z.enum(TICKET_STATES).optional(), ...pageQuery(PAGE_SIZES.approvals) }),
  },
  responses: { 200: page(z.array(Approval), "Tickets, newest first"), ...problems("invalid") },
});

const get = createRoute({
  method: "get",
  path: "/approvals/{ticket_id}",
  scopes: ["read", "approve"],
  agentCheck: "handler",
  operationId: "getApproval",
  summary: "Get a ticket",
  tags: ["budgets"],
  request: { params },
  responses: { 200: json(Approval, "The ticket"), ...problems("not_found") },
});

const approve = createRoute({
  method: "post",
  path: "/approvals/{ticket_id}/approve",
  scopes: ["approve"],
  operationId: "approveTicket",
  summary: "Approve a ticket: raise the limit of its counter",
  description:
    "Refused for the key of a call that asks, and for another key of the same person. Of several answers at once the first counts; " +
    `the others get 409 with who has answered. ${WITHIN}`,
  tags: ["budgets"],
  request: { params, body: jsonBody(ApproveBody, { reason: "Release" }) },
  responses: {
    200: json(Approval, "The ticket"),
    ...problems("invalid", "not_found", "conflict", ...BODY_CODES),
  },
});

const deny = createRoute({
  method: "post",
  path: "/approvals/{ticket_id}/deny",
  scopes: ["approve"],
  operationId: "denyTicket",
  summary: "Deny a ticket: the calls that wait for it are refused",
  description: `Its counter isn't asked for again for 15 minutes. ${WITHIN}`,
  tags: ["budgets"],
  request: { params, body: jsonBody(DenyBody, { reason: "Wait for tomorrow" }) },
  responses: { 200: json(Approval, "The ticket"), ...problems("not_found", "conflict", ...BODY_CODES) },
});

/** Returns the tickets that a request may read: all that its viewer sees, or those with the tags of a key that only approves. */
function readerOf(c: Context<ApiEnv>): TicketReader {
  const principal = principalOf(c);
  const viewer = viewerOfRequest(c);
  if (!principal || allows(principal.scopes, ["read"])) return { viewer };
  return { viewer, tags: tagsToAnswer(principal) };
}

/** Returns the tags that limit what a key answers. `user` is its own person, and no limit beside other tags. */
function tagsToAnswer({ tags = {} }: Pick<Principal, "tags">): Tags {
  const { user: _own, ...others } = tags;
  return Object.keys(others).length > 0 ? others : tags;
}

/** Returns who answers a ticket. Throws `not_found`, and `forbidden` for one that lacks the tags of the key. */
async function deciderOf(c: Context<ApiEnv>, core: Core, ticketId: string) {
  const principal = principalOf(c);
  const ticket = await getTicket(core, ticketId, readerOf(c));
  const isNarrow = principal && !principal.scopes.includes("admin");
  const lacking = isNarrow
    ? Object.entries(tagsToAnswer(principal)).filter(([key, value]) => ticket.tags[key] !== value)
    : [];
  if (lacking.length > 0) {
    const [[key, value]] = lacking as [[string, string]];
    throw new PurserError(
      "forbidden",
      `Cannot answer ticket ${ticketId}: its call has not the tag ${key}=${value}, to which this API key is limited`,
    );
  }
  await checkLimitOfKeys(c, core, ticket.budget_id);
  return readerOf(c);
}

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(list, async (c) => {
      const { state, ...query } = c.req.valid("query");
      const reader = readerOf(c);
      const tickets = await pageByTime(
        c,
        query,
        positionIn("asked_at", "ticket_id"),
        (before, limit) => listTickets(core, { reader, state, before, limit }),
      );
      return c.json(tickets, 200);
    })
    .openapi(
      get,
      async (c) => c.json(await getTicket(core, c.req.valid("param").ticket_id, readerOf(c)), 200),
    )
    .openapi(approve, async (c) => {
      const { ticket_id } = c.req.valid("param");
      const decider = await deciderOf(c, core, ticket_id);
      return c.json(await approveTicket(asAuthor(c, core), ticket_id, c.req.valid("json"), decider), 200);
    })
    .openapi(deny, async (c) => {
      const { ticket_id } = c.req.valid("param");
      const decider = await deciderOf(c, core, ticket_id);
      return c.json(await denyTicket(asAuthor(c, core), ticket_id, c.req.valid("json"), decider), 200);
    });
}
