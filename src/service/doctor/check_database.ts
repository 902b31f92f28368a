import { checkpointsOnCommit, checkWritable, DATABASE_NOW, readDurability } from "../../store/mod.ts";
import type { Core } from "../core.ts";
import { COMMITS_CHECKPOINT, SERVER_DURABILITY } from "../watch_durability.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Checks that the database takes writes, and whether a commit survives a power cut. */
export async function checkDatabase({ store }: Pick<Core, "store">): Promise<Finding> {
  await checkWritable(store);
  const { rows } = await store.read({ sql: "SELECT max(version) FROM purser_migrations" });
  const version = `schema version ${rows[0]![0]}`;
  if (store.kind === "memory") return ok(`in memory, ${version}; all of it is gone when the process ends`);
  const durability = await readDurability(store);
  if (store.kind === "file") {
    return ok(
      durability === "full"
        ? `local file, ${version}, durability full: every commit is on the disk`
        : `local file, ${version}, durability normal: a power cut may lose the last commits`,
    );
  }
  if (durability === "full" && await checkpointsOnCommit(store)) {
    return warning(`libSQL server, ${version}; ${COMMITS_CHECKPOINT.state}`, COMMITS_CHECKPOINT.advice);
  }
  if (durability === "full") {
    return ok(`libSQL server, ${version}, durability strong: every commit is on its disk`);
  }
  return warning(
    `libSQL server, ${version}; ${SERVER_DURABILITY[durability].state}`,
    SERVER_DURABILITY[durability].advice,
  );
}

/** Windows of spend, days and cooldowns are computed to the second; NTP keeps machines within a fraction of one. */
const MAX_SKEW_MS = 5_000;

/** Compares this machine's clock with that of a database on another one, which its leases depend on. */
export async function checkClock({ store, clock }: Pick<Core, "store" | "clock">): Promise<Finding> {
  if (store.kind !== "remote") return ok("this machine's own is the only one");
  const before = clock.now();
  const { rows } = await store.read({ sql: `SELECT ${DATABASE_NOW}` });
  const after = clock.now();
  const [ahead, uncertainty] = [(before + after) / 2 - Number(rows[0]![0]), (after - before) / 2];
  if (Math.abs(ahead) - uncertainty <= MAX_SKEW_MS) {
    return ok(`within ${MAX_SKEW_MS / 1000} s of the database's`);
  }
  return warning(
    `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"} the database's; ` +
      `at most ${MAX_SKEW_MS / 1000} s is fine`,
    "Synchronize both machines by NTP: hours, days and cooldowns of alerts depend on these clocks",
  );
}
