import type { Core } from "./core.ts";
import { messageOf } from "../kernel/errors.ts";
import { type CommitDurability, readDurability } from "../store/mod.ts";

/** What a libSQL server that is not known to keep every commit means, and what to do about it. */
export const SERVER_DURABILITY = {
  normal: {
    state: "it is not in its strong durability mode, so a power cut there may lose the last commits",
    advice: 'Set "durability_mode": "strong" through its admin API: see docs/operating.md',
  },
  unknown: {
    state: "it doesn't tell how durable a commit is",
    advice: 'Ask its admin API, GET /v1/namespaces/NAME/config, for "durability_mode": "strong"',
  },
} as const satisfies Partial<Record<CommitDurability, { state: string; advice: string }>>;

/** A server without namespaces forgets its mode when it is started again, so it is asked this often. */
const LOOK_EVERY_MS = 300_000;

type Watched = Pick<Core, "store" | "log" | "clock" | "stopping">;

/** Warns in the log of a server while the libSQL server under it may lose commits at a power cut: once each time it comes to that. */
export async function watchServerDurability(core: Watched): Promise<void> {
  if (core.store.kind !== "remote") return;
  try {
    watch(core, await tell(core, "full"));
  } catch (error) {
    core.log.warn("The libSQL server could not be asked how durable its commits are", {
      reason: messageOf(error),
    });
    watch(core, "full");
  }
}

async function watch(core: Watched, known: CommitDurability): Promise<void> {
  for (;;) {
    await core.clock.sleep(LOOK_EVERY_MS, core.stopping);
    if (core.stopping.aborted) return;
    // One that is away is told of by whoever needs it.
    known = await tell(core, known).catch(() => known);
  }
}

/** Warns if it has come to that since. */
async function tell({ store, log }: Watched, known: CommitDurability): Promise<CommitDurability> {
  const durability = await readDurability(store);
  if (durability !== "full" && durability !== known) {
    const { state, advice } = SERVER_DURABILITY[durability];
    log.warn(`Of the libSQL server: ${state}`, { advice });
  }
  return durability;
}
