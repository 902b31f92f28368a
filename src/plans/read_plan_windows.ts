import type { PlanSource } from "../contract/values.ts";
import type { SqlValue, Store } from "../store/mod.ts";
import { CREDITS } from "./sources/mod.ts";
import type { PlanOrigin, SaidOfWindow } from "./record_plan_windows.ts";

/** The latest measurement of a window. */
export interface MeasuredWindow extends SaidOfWindow {
  agent: string;
  source: PlanSource;
  owner: PlanOrigin["owner"];
  /** The API key that has reported it; '' for this database's own. */
  reporterKeyId: string;
  window: string;
  /** Null where the source doesn't say it. */
  usedPercent: number | null;
  resetsAt: number | null;
  measuredAt: number;
}

/** The windows to read; all of what is not given. */
export interface WindowFilter {
  agent?: string | undefined;
  reporterKeyId?: string | undefined;
}

const READ =
  `SELECT key_id, agent, owner, kind, source, measured_at, used_basis_points, resets_at, said FROM plan_windows
WHERE (CAST(?1 AS TEXT) IS NULL OR key_id = ?1) AND (CAST(?2 AS TEXT) IS NULL OR agent = ?2)
ORDER BY agent, owner, key_id, CASE kind WHEN '${CREDITS}' THEN 1 ELSE 0 END, kind`;

/** Reads the latest measurement of each window, by agent, owner and window. */
export async function readPlanWindows(
  { store }: { store: Pick<Store, "read"> },
  { agent, reporterKeyId }: WindowFilter = {},
): Promise<MeasuredWindow[]> {
  const args = [reporterKeyId ?? null, agent ?? null];
  const { rows } = await store.read({ sql: READ, args });
  return rows.map(toWindow);
}

function toWindow([keyId, agent, owner, kind, source, measuredAt, used, resetsAt, said]: SqlValue[]) {
  const [, what, name] = /^(\w+) (.*)$/s.exec(owner as string)!;
  return {
    ...JSON.parse(said as string) as SaidOfWindow,
    agent: agent as string,
    source: source as PlanSource,
    owner: what === "machine" ? { machine: name! } : { provider: name! },
    reporterKeyId: keyId as string,
    window: kind as string,
    usedPercent: used === null ? null : Number(used) / 100,
    resetsAt: resetsAt === null ? null : Number(resetsAt),
    measuredAt: Number(measuredAt),
  };
}
