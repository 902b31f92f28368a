import type { Core } from "../core.ts";
import { DATABASE_NOW } from "../../store/mod.ts";
import type { DoctorCheck } from "../../contract/service.ts";

/** Windows of spend, days and cooldowns go by it to the second; NTP keeps machines within a fraction of one. */
const MAX_SKEW_MS = 5_000;

/** Compares this machine's clock with that of a database on another one, whose leases go by its own. */
export async function examineClock(
  { store, clock }: Pick<Core, "store" | "clock">,
): Promise<Omit<DoctorCheck, "name">> {
  if (store.kind !== "remote") {
    return { status: "ok", detail: "this machine's own is the only one", advice: null };
  }
  const before = clock.now();
  const { rows } = await store.read({ sql: `SELECT ${DATABASE_NOW}` });
  const after = clock.now();
  const [ahead, doubt] = [(before + after) / 2 - Number(rows[0]![0]), (after - before) / 2];
  if (Math.abs(ahead) - doubt <= MAX_SKEW_MS) {
    return { status: "ok", detail: `within ${MAX_SKEW_MS / 1000} s of the database's`, advice: null };
  }
  return {
    status: "warning",
    detail: `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"} the database's; ` +
      `up to ${MAX_SKEW_MS / 1000} s is well`,
    advice: "Keep both machines in step by NTP: hours, days and cooldowns of alerts go by these clocks",
  };
}
