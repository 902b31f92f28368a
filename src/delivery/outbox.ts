import { isAtLeast, SEVERITIES, type Severity } from "../contract/values.ts";
import type { Statement } from "../store/mod.ts";
import type { DeliveryContext, OutboxChannel } from "./context.ts";

const INSERT = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
SELECT 'dlv_' || substr(?1, instr(?1, '_') + 1) || '_' || (j.key + 1), ?1, j.value ->> 0, j.value ->> 1, ?2, ?2
FROM json_each(?3) j`;

/** The statement that puts a notification into the outbox, once for each channel that wants to hear of it. */
export function insertDeliveries(
  ctx: Pick<DeliveryContext, "outboxChannels">,
  notification: { subjectId: string; severity: Severity; now: number },
): Statement {
  const wanted = ctx.outboxChannels.filter(({ minSeverity }) =>
    isAtLeast(notification.severity, minSeverity)
  );
  return {
    sql: INSERT,
    args: [
      notification.subjectId,
      notification.now,
      JSON.stringify(wanted.map(({ name, kind }) => [name, kind])),
    ],
  };
}

/** The channels as SQL takes them: `[[name, kind, rank of the mildest severity], …]`. */
export function encodeChannels(channels: readonly OutboxChannel[]): string {
  return JSON.stringify(
    channels.map(({ name, kind, minSeverity }) => [name, kind, SEVERITIES.indexOf(minSeverity)]),
  );
}
