import {
  COUNT_WITHOUT_RULES,
  MOVE_COUNTERS,
  MOVE_DECIDED_COUNTERS,
  TAIL_WITH_RULES,
} from "../../ledger/mod.ts";
import type { ResultSet, Statement } from "../../store/mod.ts";
import type { AlertContext } from "../context.ts";
import { encodeChannels } from "../../delivery/mod.ts";

/**
 * A process reads its clock before its commit has its turn, which can take until the deadline of a write; another one may
 * have fired a rule meanwhile. So a rule that fired up to this long in the future has not met a clock that was set back.
 */
const SKEW_MS = 30_000;

const IS_AHEAD = `cooldown_from > ?1 + ${SKEW_MS}`;

/** SQL for the time of a pass: not before any rule that another process has fired by a clock that was read later. */
const TIME = `max(?1, coalesce((SELECT max(l.cooldown_from) FROM alert_rules l INDEXED BY alert_rules_fired
  WHERE l.enabled = 1 AND l.cooldown_from <= ?1 + ${SKEW_MS}), 0))`;

/** Arms the rules whose rest is over. */
const ARM = `UPDATE alert_rules SET is_armed = 1
WHERE is_armed = 0 AND enabled = 1 AND is_over = 0 AND rests_until <= ${TIME}`;

/** After a clock was set back, a rule that fired in the future counts as fired now. */
const NOTICE_CLOCK = `UPDATE alert_rules SET cooldown_from = ?1, rests_until = ?1 + cooldown_ms,
  is_armed = is_over = 0 AND cooldown_ms = 0
WHERE enabled = 1 AND ${IS_AHEAD}`;

// What it means is the trigger of `firing_logic.ts`.
const DECIDE =
  `INSERT INTO decisions (position, at, agent_id, session_id, run_id, key_id, cost_nano_usd, adjusts, now,
  alert_prefix, channels)
SELECT c.position, c.at, c.agent_id, c.session_id, c.run_id, c.key_id, c.cost_nano_usd, c.adjusts, ${TIME}, ?2, ?3
${TAIL_WITH_RULES} ORDER BY c.position`;

/**
 * The statements that decide, call by call, which rules fire, up to the end of the ledger: for the calls of the same unit,
 * and those that a process without a sight of the rules has booked before. They do nothing where no rule is enabled.
 * `readFired` understands their results.
 */
export function decideAlerts(ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">): Statement[] {
  return passOf(ctx, [MOVE_DECIDED_COUNTERS]);
}

/** The same, and the counters are advanced also where no rule is enabled. */
export function advanceCounters(ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">): Statement[] {
  return passOf(ctx, [COUNT_WITHOUT_RULES, MOVE_COUNTERS]);
}

function passOf(
  ctx: Pick<AlertContext, "clock" | "ids" | "outboxChannels">,
  move: readonly Statement[],
): Statement[] {
  const now = ctx.clock.now();
  const alertPrefix = ctx.ids.next("alert");
  return [
    { sql: NOTICE_CLOCK, args: [now] },
    { sql: ARM, args: [now] },
    { sql: DECIDE, args: [now, alertPrefix, encodeChannels(ctx.outboxChannels)] },
    ...move,
    { sql: READ_FIRED, args: [alertPrefix] },
  ];
}

// By the prefix that the pass has given them: it may be asked for again when an answer was lost.
const READ_FIRED = "SELECT alert_id FROM alerts WHERE alert_id >= ?1 AND alert_id < ?1 || 'g'";

/** The ids of the alerts that a pass fired, from the results of its statements. */
export function readFired(results: readonly ResultSet[]): string[] {
  return results.at(-1)!.rows.map(([alertId]) => alertId as string);
}
