import { type AlertContext, announceAlerts, firePlanRules, readFired } from "../alerts/mod.ts";
import type { Bus } from "../bus/mod.ts";
import type { PlanSource } from "../contract/values.ts";
import { DAY_MS } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { withoutUndefined } from "../kernel/records.ts";
import { MAX_AHEAD_MS } from "../ledger/mod.ts";
import type { SqlValue } from "../store/mod.ts";
import type { PlanWindow } from "./sources/mod.ts";

/** The plan of some windows, and what has measured them. */
export interface PlanOrigin {
  /** The agent whose plan it is, by its name in `import.plans`: `claude-code`. */
  agent: string;
  source: PlanSource;
  /** The owner of the plan as far as the source knows it: the machine with its login, or the provider of the gateway. */
  owner: { machine: string } | { provider: string };
  /** The provider's id of the account. */
  account?: string | undefined;
  /** The API key that reports the windows; undefined for what this database's own gateway, status line and imports measure. */
  reporterKeyId?: string | undefined;
  /** The API key and the model of the call at the gateway in whose answer they were. */
  caller?: { keyId: string | null; model: string } | undefined;
}

/** The fields of a window that no statement needs. */
export type SaidOfWindow =
  & Pick<PlanWindow, "status" | "lengthMs" | "plan" | "models" | "credits">
  & Pick<PlanOrigin, "account" | "caller">;

const KEY = ["key_id", "agent", "owner", "kind"];
const VALUES = ["source", "measured_at", "used_basis_points", "resets_at", "said"];
const COLUMNS = [...KEY, ...VALUES];
const INTEGERS = ["measured_at", "used_basis_points", "resets_at"];

const columnsOf = (table: string, ...columns: string[]) =>
  columns.map((column) =>
    INTEGERS.includes(column) ? `coalesce(${table}.${column}, -1)` : `${table}.${column}`
  )
    .join(", ");

/** A later measurement replaces an earlier one; of two at the same time the same one stays, whatever their order. */
const BY_TIME = ["measured_at", "used_basis_points", "resets_at", "said"];
const IS_LATER = `(${columnsOf("excluded", ...BY_TIME)}) > (${columnsOf("plan_windows", ...BY_TIME)})`;

/**
 * Of a source that may repeat an old measurement: that of the later window, in it the higher use, which doesn't fall before the
 * window ends. The same one again keeps its time.
 */
const BY_USE = ["resets_at", "used_basis_points"];
const IS_MORE = `(${columnsOf("excluded", ...BY_USE)}, -excluded.measured_at) > (${
  columnsOf("plan_windows", ...BY_USE)
}, -plan_windows.measured_at)`;

/** The most windows that are kept for an API key: a client may name any number of machines. */
const MAX_PER_KEY = 1_000;
const HAS_ROOM = `(SELECT count(*) FROM plan_windows p WHERE p.key_id = v.key_id) < ${MAX_PER_KEY}
  OR EXISTS (SELECT 1 FROM plan_windows p WHERE ${KEY.map((name) => `p.${name} = v.${name}`).join(" AND ")})`;

/** Of plans that are not used any more. */
const REMOVE_OLD = "DELETE FROM plan_windows WHERE measured_at < ?";
const KEPT_MS = 62 * DAY_MS;

const record = (isNewer: string) =>
  `INSERT INTO plan_windows (${COLUMNS.join(", ")}) SELECT ${
    COLUMNS.map((column) => `v.${column}`).join(", ")
  }
FROM each_row v WHERE ${HAS_ROOM} ON CONFLICT (${KEY.join(", ")}) DO UPDATE SET
  ${VALUES.map((column) => `${column} = excluded.${column}`).join(", ")} WHERE ${isNewer}`;

const RECORD_MEASURED = record(IS_LATER);
const RECORD_REPEATED = record(IS_MORE);

/**
 * Records the windows of a plan. May be repeated, and in any order: an older measurement never replaces a newer one, and one from
 * ahead of the clock is left out. A window without a time of measurement counts as measured at `now`; if it has ended by then, it
 * is left out, too. An end that is further away than the length of the window counts as unknown. Rules about plans are decided in
 * the same commit.
 */
export async function recordPlanWindows(
  ctx: AlertContext & { bus: Bus; log: Log },
  { agent, source, owner, account, reporterKeyId = "", caller }: PlanOrigin,
  windows: readonly PlanWindow[],
  now: number,
): Promise<void> {
  const key = [reporterKeyId, agent, ownerText(owner)];
  const latest = windows.toSorted((a, b) => (a.measuredAt ?? now) - (b.measuredAt ?? now));
  const one = [...new Map(latest.map((window) => [window.window, window])).values()];
  const rowsOf = (isMeasured: boolean) =>
    one.flatMap(({ window, usedPercent, resetsAt, measuredAt, ...said }): SqlValue[][] => {
      if ((measuredAt !== undefined) !== isMeasured) return [];
      const isOld = measuredAt === undefined && resetsAt !== undefined && resetsAt <= now;
      if (isOld || (measuredAt ?? now) > now + MAX_AHEAD_MS) return [];
      const used = usedPercent === undefined ? null : Math.round(usedPercent * 100);
      const latest = (measuredAt ?? now) + (said.lengthMs ?? KEPT_MS) + MAX_AHEAD_MS;
      const end = resetsAt === undefined || resetsAt > latest ? null : resetsAt;
      const rest: SaidOfWindow = { ...said, account, caller };
      const text = JSON.stringify(withoutUndefined(rest));
      return [[...key, window, source, measuredAt ?? now, used, end, text]];
    });
  const statements = [[RECORD_MEASURED, rowsOf(true)], [RECORD_REPEATED, rowsOf(false)]] as const;
  const writes = statements.filter(([, rows]) => rows.length > 0)
    .map(([sql, rows]) => ({ sql, each: { columns: COLUMNS, integers: INTEGERS, rows } }));
  if (writes.length === 0) return;
  const plan = { keyId: reporterKeyId, agent, owner: ownerText(owner) };
  const firing = ctx.rules.mayExist ? firePlanRules(ctx, plan, now) : [];
  const results = await ctx.store.write([
    { sql: REMOVE_OLD, args: [now - KEPT_MS] },
    ...writes,
    ...firing,
  ]);
  if (firing.length > 0) announceAlerts(ctx, readFired(results));
}

export const ownerText = (owner: PlanOrigin["owner"]): string =>
  "machine" in owner ? `machine ${owner.machine}` : `provider ${owner.provider}`;
