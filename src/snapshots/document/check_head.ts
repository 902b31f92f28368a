import type { ZodType } from "zod";
import { messageOf } from "../../kernel/errors.ts";
import { parseUsd } from "../../kernel/money.ts";
import type { Issues } from "./issues.ts";

/** What checking a document's fields needs. */
export interface HeadCheck {
  schema: ZodType;
  /** Paths of members whose value is no good JSON: the schema's word on them would be noise. */
  faulty: ReadonlySet<string>;
  issues: Issues;
}

/** Checks a document without its messages and events: against the schema, and the agent against the rest. */
export function checkHead(head: Record<string, unknown>, { schema, faulty, issues }: HeadCheck): void {
  const checked = schema.safeParse(head);
  if (!checked.success) {
    const isNews = ({ path: [first, second] }: { path: readonly PropertyKey[] }) =>
      !faulty.has(String(first)) && !faulty.has(`${String(first)}.${String(second)}`);
    issues.addSchemaIssues([], checked.error.issues.filter(isNews));
  }
  checkAgent(head, issues);
}

function checkAgent(head: Record<string, unknown>, issues: Issues): void {
  const { agent_id: agentId } = head;
  const agent = (head.agent ?? {}) as { agent_id?: unknown; name?: unknown; cost_budget_usd?: unknown };
  if (typeof agent.cost_budget_usd === "number") {
    try {
      parseUsd(agent.cost_budget_usd);
    } catch (error) {
      issues.add(["agent", "cost_budget_usd"], messageOf(error));
    }
  }
  for (const key of ["agent_id", "name"] as const) {
    const given = agent[key];
    if (typeof given !== "string" || typeof agentId !== "string" || given === agentId) continue;
    issues.add(["agent", key], "is not the snapshot's agent_id");
  }
}
