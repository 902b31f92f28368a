import type { AnomalyKind, Severity } from "../../contract/values.ts";

/** Something out of the ordinary, before it is known whether it was told already. */
export interface Finding {
  kind: AnomalyKind;
  severity: Severity;
  agentId: string;
  sessionId: string | null;
  runId: string | null;
  callId: string | null;
  /** What it is told once for, beside its kind and agent: `run/run_1`, `call/…`, `hour/…`. */
  occasion: string;
  message: string;
  details: Record<string, unknown>;
}

/** The key under which a finding is kept once: it is told again only when it has become critical. */
export function keyOf(finding: Pick<Finding, "kind" | "severity" | "agentId" | "occasion">): string {
  const { kind, severity, agentId, occasion } = finding;
  // No agent's id has a slash in it.
  return `${kind}/${severity === "critical" ? "critical" : "warning"}/${agentId}/${occasion}`;
}
