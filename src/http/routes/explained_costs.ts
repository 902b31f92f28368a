import { ExplainedCall } from "../../contract/costs/explained_calls.ts";
import { SpendingSummary } from "../../contract/costs/spending_summary.ts";
import { AgentId, CallId, SessionId } from "../../contract/parts.ts";
import { explainCall } from "../../ledger/explain/mod.ts";
import type { Core } from "../../service/mod.ts";
import { createRoute, z } from "../create_route.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import { problems } from "../problem_responses.ts";
import { json } from "../route_parts.ts";
import { createRouter } from "../router.ts";

const summary = createRoute({
  method: "get",
  path: "/costs/summary",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "getSpendingSummary",
  summary: "Sum the spend of a session and of today, with the tightest budget",
  description:
    "What a status line shows, in one request. Budgets count the next call of the session by the agent, the key, the model and " +
    "the tags of its newest one. A key of one agent sees what is that agent's, and names a session as it has reported it.",
  tags: ["costs"],
  request: {
    query: z.strictObject({
      session_id: SessionId.optional(),
      agent_id: AgentId.optional().openapi({ description: "The agent of a session without calls" }),
    }),
  },
  responses: { 200: json(SpendingSummary, "The sums and the budget"), ...problems("invalid") },
});

const explain = createRoute({
  method: "get",
  path: "/costs/calls/{call_id}",
  scopes: ["read"],
  agentCheck: "handler",
  operationId: "explainCall",
  summary: "Explain the cost of a call",
  description:
    "Tokens by rate, line by line, computed again from the usage and the rate card that the ledger " +
    "keeps, and every adjustment since.",
  tags: ["costs"],
  request: { params: z.object({ call_id: CallId }) },
  responses: { 200: json(ExplainedCall, "The call and its prices"), ...problems("not_found") },
});

export function createRoutes(core: Core) {
  return createRouter()
    .openapi(
      explain,
      async (c) => c.json(await explainCall(core, c.req.valid("param").call_id, viewerOfRequest(c)), 200),
    )
    .openapi(summary, async (c) => {
      const { session_id: sessionId, agent_id: agentId } = c.req.valid("query");
      const { summarizeSpending } = await import("../../budgets/summary/mod.ts");
      return c.json(await summarizeSpending(core, viewerOfRequest(c), { sessionId, agentId }), 200);
    });
}
