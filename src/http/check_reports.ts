import type { ReportedCall } from "../booking/mod.ts";
import type { Core } from "../service/mod.ts";
import { findForeignRef } from "../sessions/mod.ts";
import { outOfReach } from "./middleware/principal.ts";

/**
 * Refuses calls that a key of one agent may not report: another agent's, and such as would count in another agent's
 * session or run, whose budget and alerts they would use up. Throws `forbidden`.
 */
export async function checkReports(
  core: Pick<Core, "store">,
  reports: readonly ReportedCall[],
  only: string,
): Promise<void> {
  for (const [index, { agentId }] of reports.entries()) {
    if (agentId !== only) throw outOfReach(`agent ${agentId} of event [${index}]`, only);
  }
  const ids = (key: "sessionId" | "runId") =>
    [...new Set(reports.map((report) => report[key]))].filter((id) => id !== null);
  const foreign = await findForeignRef(core, {
    agentId: only,
    sessionIds: ids("sessionId"),
    runIds: ids("runId"),
  });
  if (foreign) throw outOfReach(`${foreign.kind} ${foreign.id}`, only);
}
