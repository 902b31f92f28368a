import { ANOMALY_KINDS } from "./values.ts";
import { z } from "@hono/zod-openapi";
import { AgentId, CallId, id, RunId, SessionId, Severity, Time } from "./parts.ts";

/** The wire schema of anomalies. */

export const Anomaly = z.object({
  anomaly_id: id("anom_01k9qv3vbf0h2k4n6q8s0v2x4z"),
  kind: z.enum(ANOMALY_KINDS),
  severity: Severity,
  agent_id: AgentId,
  session_id: SessionId.nullable(),
  run_id: RunId.nullable(),
  call_id: CallId.nullable(),
  message: z.string().openapi({ description: "One line for people" }),
  details: z.record(z.string(), z.unknown()).openapi({
    description: "The measured values, which depend on the kind",
  }),
  detected_at: Time,
}).openapi("Anomaly");
export type Anomaly = z.infer<typeof Anomaly>;
