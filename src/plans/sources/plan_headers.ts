import type { HeaderFields } from "../../kernel/header_fields.ts";
import { CODEX_HEADERS, readCodexHeaders } from "./codex.ts";
import type { PlanWindow } from "./plan_window.ts";
import { readUnifiedHeaders, UNIFIED_HEADERS } from "./unified_headers.ts";

/** What the headers of an answer say of the plan that paid for it. */
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

/** Reads the plan windows in the headers of a provider's answer, which came at `at`; undefined where it has none. */
export function readPlanHeaders(
  headers: Pick<HeaderFields, "get" | "forEach">,
  at: number,
): PlanHeaders | undefined {
  if (headers.get(CLAUDE) !== null) {
    const account = headers.get("anthropic-organization-id") ?? undefined;
    return { agent: "claude-code", account, windows: readUnifiedHeaders(headers, at) };
  }
  if (CODEX.every((name) => headers.get(name) === null)) return undefined;
  return { agent: "codex", account: undefined, windows: readCodexHeaders(headers, at) };
}
