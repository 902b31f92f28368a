/** Bytes on the disk for each booked call, after a checkpoint: the ledger, its indexes, rollups, events and messages. */
import { askInTurn, type ComparedRow, openWorkers, reportVersions } from "./compare.ts";

const STEPS = 20;
const CALLS = 10_000;
const KINDS = {
  metered: "metered calls, 20 in a session",
  steps: `steps of ${STEPS}-step runs, each in a session of its own`,
  reportedLoose: "reported calls, without a session",
  reported: "reported calls, 20 in a session and run",
};

await using workers = await openWorkers("disk_size", { steps: STEPS });
const rows: ComparedRow[] = [];
for (const [kind, name] of Object.entries(KINDS)) {
  const bytes = await askInTurn(workers.list, kind, CALLS);
  rows.push({
    name,
    figures: bytes.map((each) => ({ median: each! })),
    format: (value) => `${value.toFixed(0)} B`,
  });
}
reportVersions(`On the disk for each call, after a checkpoint; ${CALLS.toLocaleString("en")} calls`, rows);
