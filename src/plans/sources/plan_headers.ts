import type { HeaderFields } from "../../kernel/header_fields.ts";
import { CODEX_HEADERS, readCodexHeaders } from "./codex.ts";
import { type PlanWindow, wordOf } from "./plan_window.ts";
import { readUnifiedHeaders, UNIFIED_HEADERS } from "./unified_headers.ts";

/** The plan that paid for a call, by the headers of its answer. */
export interface PlanHeaders {
  /** The agent whose plan it is, by the name in `import.plans`. */
  agent: "claude-code" | "codex";
  /** The provider's id of the account; undefined where the answer doesn't have it. */
  account: string | undefined;
  windows: PlanWindow[];
}

/** The headers that every answer of a call with a plan has. */
const CLAUDE = UNIFIED_HEADERS + "status";
const CODEX = [`${CODEX_HEADERS}primary-used-percent`, `${CODEX_HEADERS}secondary-used-percent`];

/** Returns whether an answer may have plan windows, by few of its headers. */
export function hasPlanHeaders(headers: Pick<HeaderFields, "get">): boolean {
  return headers.get(CLAUDE) !== null || CODEX.some((name) => headers.get(name) !== null);
}

/** Returns whether headers with plan windows may say that the quota of the plan has ended. */
export function sayEnded(headers: Pick<HeaderFields, "get">): boolean {
  return headers.get(CLAUDE) === "rejected" || headers.get(`${UNIFIED_HEADERS}overage-in-use`) === "true" ||
    CODEX.some((name) => Number(headers.get(name)) >= 100);
}

/**
 * Returns whether a plan pays for the call, by the headers of its answer: answers to calls with an API key have no such headers. Once
 * the quota has ended, paid credits may pay for it: it then counts as billed.
 */
export function isPaidByPlan(headers: Pick<HeaderFields, "get">): boolean {
  return hasPlanHeaders(headers) && !sayEnded(headers);
}

/** Reads the plan windows in the headers of a provider's answer, which came at `at`; undefined where it has none. */
export function readPlanHeaders(
  headers: Pick<HeaderFields, "get" | "forEach">,
  at: number,
): PlanHeaders | undefined {
  if (headers.get(CLAUDE) !== null) {
    const account = wordOf(headers.get("anthropic-organization-id"));
    return { agent: "claude-code", account, windows: readUnifiedHeaders(headers, at) };
  }
  if (!hasPlanHeaders(headers)) return undefined;
  return { agent: "codex", account: undefined, windows: readCodexHeaders(headers, at) };
}
