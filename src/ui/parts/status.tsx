import type { AgentStatus } from "../../contract/values.ts";
import { escapeText } from "../../kernel/text.ts";
import { Badge, type Tone } from "./card.tsx";

const TONES: Readonly<Record<AgentStatus, Tone>> = {
  idle: "neutral",
  running: "accent",
  completed: "good",
  failed: "bad",
  budget_exceeded: "bad",
  cancelled: "warning",
  interrupted: "warning",
};

/** The statuses, in the order of filters. */
export const STATUSES = Object.keys(TONES) as readonly AgentStatus[];

/** The status of a session or a run; of one that waits for a person, that. */
export function StatusBadge({ status, waiting_for }: { status: string; waiting_for?: string | undefined }) {
  if (waiting_for !== undefined) return <Badge tone="warning">waiting</Badge>;
  return (
    <Badge tone={TONES[status as AgentStatus] ?? "neutral"}>
      {escapeText(status.replaceAll("_", " "))}
    </Badge>
  );
}
