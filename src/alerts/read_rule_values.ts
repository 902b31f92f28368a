import type { NanoUsd } from "../money.ts";
import type { AlertContext } from "./context.ts";
import type { RuleRow } from "./rule.ts";
import { hourEdge, hourParts, sumOfWindows } from "./window_sql.ts";
import { windowAt } from "./windows.ts";

const { sure } = hourParts("t.scope", "t.starts", "t.ends");

/** Of spend that no run or session of this database knows, only so much of the newest is looked through. */
const NEWEST = 1_000;

const newestOf = (table: string, key: string) =>
  `(SELECT cost_nano_usd FROM (SELECT agent_id, cost_nano_usd FROM ${table}
    ORDER BY first_at DESC, ${key} DESC LIMIT ${NEWEST}) WHERE t.scope = '' OR agent_id = t.scope LIMIT 1)`;

const READ = `WITH t AS (
  SELECT key AS n, value ->> 0 AS type, value ->> 1 AS scope, value ->> 2 AS starts, value ->> 3 AS ends FROM json_each(?)
)
SELECT min(9223372036854775807, CASE t.type
  WHEN 'per_run_usd' THEN coalesce((SELECT s.cost_nano_usd FROM runs r JOIN spend_runs s ON s.run_id = r.run_id
    WHERE r.agent_id = t.scope ORDER BY r.started_at DESC LIMIT 1), ${newestOf("spend_runs", "run_id")})
  WHEN 'per_session_usd' THEN coalesce((SELECT s.cost_nano_usd FROM sessions o
    JOIN spend_sessions s ON s.session_id = o.session_id
    WHERE o.agent_id = t.scope ORDER BY o.updated_at DESC LIMIT 1), ${
  newestOf("spend_sessions", "session_id")
})
  WHEN 'per_hour_usd' THEN ${sure} + ${hourEdge("t.scope", "t.starts")}
  ELSE ${sumOfWindows("t.scope", "day", "t.starts", "t.ends")}
END) FROM t ORDER BY t.n`;

/**
 * What each rule measures at this moment, in nano-USD: its hour, day or month so far; of rules per run or session,
 * the newest one that its agent (or any agent) has spent in. Null where there has been none.
 */
export async function readRuleValues(
  ctx: Pick<AlertContext, "store" | "clock">,
  rules: readonly Pick<RuleRow, "thresholdType" | "scope">[],
): Promise<(NanoUsd | null)[]> {
  const now = ctx.clock.now();
  const keyOf = ({ thresholdType, scope }: (typeof rules)[number]) => `${thresholdType} ${scope}`;
  const windows = new Map(rules.map((rule) => [keyOf(rule), windowOf(rule, now)]));
  const { rows } = await ctx.store.read({ sql: READ, args: [JSON.stringify([...windows.values()])] });
  const values = new Map([...windows.keys()].map((key, index) => [key, rows[index]![0] as NanoUsd | null]));
  return rules.map((rule) => values.get(keyOf(rule)) ?? null);
}

/** A window as the query reads it; many rules may look at one. */
function windowOf({ thresholdType, scope }: Pick<RuleRow, "thresholdType" | "scope">, now: number) {
  if (thresholdType === "per_run_usd" || thresholdType === "per_session_usd") {
    return [thresholdType, scope, 0, 0];
  }
  const { from, to } = windowAt(thresholdType, now);
  return [thresholdType, scope, from, to];
}
