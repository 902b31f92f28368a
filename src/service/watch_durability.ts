import type { Core } from "./core.ts";
import { messageOf } from "../kernel/errors.ts";
import { checkpointsOnCommit, type CommitDurability, readDurability } from "../store/mod.ts";

/** The warning about a libSQL server that may lose commits, and the remedy. */
export const SERVER_DURABILITY = {
  normal: {
    state: "it is not in its strong durability mode, so a power cut there may lose the last commits",
    advice: 'Set "durability_mode": "strong" through its admin API: see docs/operating.md',
  },
  unknown: {
    state: "it doesn't report how durable a commit is",
    advice: 'Ask its admin API, GET /v1/namespaces/NAME/config, for "durability_mode": "strong"',
  },
} as const satisfies Partial<Record<CommitDurability, { state: string; advice: string }>>;

/** The same of a PostgreSQL server. */
export const POSTGRES_DURABILITY = {
  state: "a commit is not flushed to the disk, so a power cut there may lose the last ones",
  advice: "Set fsync and synchronous_commit to on: see docs/postgresql.md",
} as const;

/** The warning about a libSQL server whose connections checkpoint the WAL when they commit, and the remedy. */
export const COMMITS_CHECKPOINT = {
  state: "its connections checkpoint the WAL when they commit, so it may hang when several processes write",
  advice: "If you run sqld yourself, start it with --checkpoint-interval-s 10: see docs/operating.md",
} as const;

/** A server without namespaces loses its mode when it restarts, so the mode is read this often. */
const CHECK_EVERY_MS = 300_000;

type Watched = Pick<Core, "store" | "log" | "clock" | "stopping">;

/** Logs a warning whenever the durability of a server drops such that it may lose commits in a power cut. */
export async function watchServerDurability(core: Watched): Promise<void> {
  if (core.store.kind !== "remote") return;
  let known: CommitDurability = "full";
  try {
    known = await warnOnChange(core, known);
    if (core.store.engine === "sqlite" && await checkpointsOnCommit(core.store)) {
      core.log.warn(`Checkpoints of the libSQL server: ${COMMITS_CHECKPOINT.state}`, {
        advice: COMMITS_CHECKPOINT.advice,
      });
    }
  } catch (error) {
    core.log.warn(`The durability of the ${nameOf(core)} could not be read`, { reason: messageOf(error) });
  }
  void watch(core, known);
}

const nameOf = ({ store }: Pick<Watched, "store">) =>
  store.engine === "postgres" ? "PostgreSQL server" : "libSQL server";

async function watch(core: Watched, known: CommitDurability): Promise<void> {
  for (;;) {
    await core.clock.sleep(CHECK_EVERY_MS, core.stopping);
    if (core.stopping.aborted) return;
    // An unavailable server is reported by the requests that need it.
    known = await warnOnChange(core, known).catch(() => known);
  }
}

/** Warns if the durability has dropped, and returns it. */
async function warnOnChange({ store, log }: Watched, known: CommitDurability): Promise<CommitDurability> {
  const durability = await readDurability(store);
  if (durability !== "full" && durability !== known) {
    const { state, advice } = store.engine === "postgres"
      ? POSTGRES_DURABILITY
      : SERVER_DURABILITY[durability];
    log.warn(`Durability of the ${nameOf({ store })}: ${state}`, { advice });
  }
  return durability;
}
