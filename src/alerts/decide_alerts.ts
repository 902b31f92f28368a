import { COUNT_WITHOUT_RULES, MOVE_COUNTERS, TAIL_WITH_RULES } from "../ledger/mod.ts";
import type { ResultSet, Statement } from "../store/mod.ts";
import type { AlertContext } from "./context.ts";
import { encodeChannels } from "./outbox.ts";

/**
 * Arms the rules whose rest is over. After a clock was set back, a rule that fired in the future counts as fired now.
 */
const ARM = `UPDATE alert_rules SET
  cooldown_from = min(cooldown_from, ?1),
  rests_until = CASE WHEN cooldown_from > ?1 THEN ?1 + cooldown_ms ELSE rests_until END,
  is_armed = is_over = 0 AND CASE WHEN cooldown_from > ?1 THEN cooldown_ms = 0 ELSE 1 END
WHERE rule_id IN (
  SELECT rule_id FROM alert_rules INDEXED BY alert_rules_fired WHERE enabled = 1 AND cooldown_from > ?1
  UNION ALL
  SELECT rule_id FROM alert_rules INDEXED BY alert_rules_resting
  WHERE is_armed = 0 AND enabled = 1 AND is_over = 0 AND rests_until <= ?1
)`;

// What it means is the trigger of `firing_logic.ts`.
const DECIDE =
  `INSERT INTO decisions (position, at, agent_id, session_id, run_id, key_id, cost_nano_usd, adjusts, now,
  alert_prefix, channels)
SELECT c.position, c.at, c.agent_id, c.session_id, c.run_id, c.key_id, c.cost_nano_usd, c.adjusts, ?1, ?2, ?3
${TAIL_WITH_RULES} ORDER BY c.position`;

/** A pass over the calls that no decision was made on yet. */
export interface DecisionPass {
  statements: Statement[];
  /** With what the ids of its alerts begin. */
  alertPrefix: string;
}

/**
 * The statements that advance the counters of decisions to the end of the ledger and decide, call by call, which rules
 * fire: the calls of the same unit, and those that a process without a sight of the rules has booked before.
 */
export function decideAlerts(ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">): DecisionPass {
  const now = ctx.clock.now();
  const alertPrefix = ctx.ids.next("alert");
  return {
    statements: [
      { sql: ARM, args: [now] },
      { sql: DECIDE, args: [now, alertPrefix, encodeChannels(ctx.outboxChannels)] },
      COUNT_WITHOUT_RULES,
      MOVE_COUNTERS,
      {
        sql: "SELECT alert_id FROM alerts WHERE alert_id >= ?1 AND alert_id < ?1 || 'g'",
        args: [alertPrefix],
      },
    ],
    alertPrefix,
  };
}

/** The ids of the alerts that a pass fired, from the results of its statements. */
export function readFired(results: readonly ResultSet[]): string[] {
  return results.at(-1)!.rows.map(([alertId]) => alertId as string);
}
