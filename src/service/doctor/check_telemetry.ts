import { QUIET_DAYS } from "../../contract/costs/sources.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { adviceOn, describeFault, listFaults } from "../../ingest/mod.ts";
import type { Core } from "../core.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** The most that a finding lists. */
const MAX_NAMED = 3;

/** Warns of telemetry of the last days that has calls without usage, sums without calls, or records that can't be read. */
export async function checkTelemetry(core: Pick<Core, "store" | "clock">): Promise<Finding> {
  const since = core.clock.now() - QUIET_DAYS * DAY_MS;
  const gaps = (await listFaults(core, null))
    .filter((fault) => fault.seenAt >= since && describeFault(fault) !== undefined)
    .sort((a, b) => b.seenAt - a.seenAt || b.records - a.records);
  const [newest] = gaps;
  if (newest === undefined) return ok(`no export of the last ${QUIET_DAYS} days leaves out a call`);
  const named = gaps.slice(0, MAX_NAMED).map((fault) =>
    `${fault.agentId}, ${fault.scope}: ${describeFault(fault)}`
  );
  const more = gaps.length > MAX_NAMED ? [`${gaps.length - MAX_NAMED} more`] : [];
  return warning([...named, ...more].join("; "), `${adviceOn(newest)} purser sources has all`);
}
