import { isAtLeast, type Severity } from "../contract/values.ts";
import type { Statement } from "../store/mod.ts";
import type { DeliveryContext } from "./context.ts";

/**
 * SQL for the id of a delivery: `dlv_`, the id of its subject from position `from` on, and the number of its channel.
 * Every delivery id is made by this expression, also in the trigger `alerts_fire` of alerts/firing/firing_logic.ts.
 */
export const deliveryIdSql = (subjectId: string, from: number | string, channelIndex: string) =>
  `'dlv_' || substr(${subjectId}, ${from}) || '_' || CAST(${channelIndex} + 1 AS TEXT)`;

const INSERT = `INSERT INTO deliveries (delivery_id, subject_id, channel, kind, due_at, created_at)
SELECT ${
  deliveryIdSql("?1", "instr(?1, '_') + 1", "CAST(j.key AS BIGINT)")
}, ?1, j.value ->> 0, j.value ->> 1, ?2, ?2
FROM json_each(?3) j`;

/** Returns the statement that writes a notification to the outbox, once for each channel that wants its severity. */
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
