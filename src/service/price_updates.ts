import type { Config } from "../config/mod.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import { sha256Hex } from "../kernel/encoding.ts";
import { auditEntry } from "../store/mod.ts";
import type { CoreParts } from "./core_parts.ts";

/** The prices of the config that an entry of the audit log names. */
const MAX_AUDITED_OVERRIDES = 100;

type ReloadContext = Pick<CoreParts, "clock" | "prices" | "log" | "store">;

/** Reads updated prices within a minute after any process has written them, and adds them to the audit log. */
export async function startPriceReloads(ctx: ReloadContext, signal: AbortSignal): Promise<void> {
  const { clock, prices, log } = ctx;
  for (let isRecorded = false;;) {
    await clock.sleep(MINUTE_MS, signal);
    if (signal.aborted) return;
    try {
      if (await prices.refresh() || (!isRecorded && prices.isLoaded())) {
        await recordPricesInUse(ctx);
        isRecorded = true;
      }
    } catch (error) {
      log.warn("The prices could not be read again", { reason: messageOf(error) });
    }
  }
}

// Of the processes that use the same prices, one adds the entry.
const ARE_OTHERS = `NOT EXISTS (SELECT 1 FROM audit_entries e WHERE e.after = ?1
  AND e.position = (SELECT max(position) FROM audit_entries WHERE kind = 'prices'))`;

/** Adds the prices in use to the audit log, unless they are those of its last entry: their sources, and those of the config. */
export async function recordPricesInUse(
  { clock, prices, store }: Omit<ReloadContext, "log">,
): Promise<void> {
  const { catalog, overrides } = await prices.inUse();
  const after = {
    sources: catalog.sources.map(({ name, date }) => `${name}@${date}`),
    overrides: overrides.slice(0, MAX_AUDITED_OVERRIDES).map(({ provider, model }) => `${provider}:${model}`),
    overrides_sha256: await sha256Hex(JSON.stringify(overrides)),
  };
  const change = { action: "changed", kind: "prices", id: "prices", name: null, after } as const;
  const only = { sql: ARE_OTHERS, args: [JSON.stringify(after)] };
  await store.write([auditEntry({ author: { actor: "code" }, now: clock.now() }, change, only)]);
}

/** The spread of the updates, so that servers that are started together don't all download at once. */
const JITTER_MS = HOUR_MS;

/** The parts of a process that daily updates need. */
export interface PriceUpdateContext extends Pick<CoreParts, "clock" | "log"> {
  folder: string;
  fetch?: typeof globalThis.fetch;
  /** Returns a number from 0 up to 1. Default: `Math.random`. */
  random?: () => number;
}

/** Starts the daily updates of a server, if its settings ask for them. */
export function keepPricesCurrent(
  core: Pick<CoreParts, "clock" | "log" | "stopping">,
  { priceUpdates, pricesFolder: folder }: Pick<Config, "priceUpdates" | "pricesFolder">,
): void {
  if (priceUpdates !== "daily") return;
  if (folder !== undefined) void startPriceUpdates({ ...core, folder }, core.stopping);
  else core.log.warn("The prices can't be updated: the home directory is not known; set XDG_DATA_HOME");
}

/**
 * Updates the prices of both sources once a day, by one of the processes that share a folder. It accepts no change that is held
 * back.
 */
export async function startPriceUpdates(ctx: PriceUpdateContext, signal: AbortSignal): Promise<void> {
  const { clock, random = Math.random } = ctx;
  await clock.sleep(random() * JITTER_MS, signal);
  while (!signal.aborted) {
    await updateOldPrices(ctx, signal);
    await clock.sleep(DAY_MS + random() * JITTER_MS, signal);
  }
}

/** Updates the sources whose files no process has written for almost a day. Never rejects. */
async function updateOldPrices(ctx: PriceUpdateContext, signal: AbortSignal): Promise<void> {
  const { clock, log, folder, fetch = globalThis.fetch } = ctx;
  const { PRICE_SOURCES, PRICE_URLS, updatedAt, updatePrices } = await import("../pricing/updates/mod.ts");
  for (const source of PRICE_SOURCES) {
    if (signal.aborted) return;
    try {
      const last = await updatedAt(folder, source);
      if (last !== undefined && clock.now() - last < DAY_MS - JITTER_MS) continue;
      const { date, added, changed, held } = await updatePrices(
        { clock, log, folder, fetch, signal },
        { from: PRICE_URLS[source], accepted: new Set(), isDryRun: false },
      );
      const models = changed.map(({ model }) => model);
      log.info("The prices were updated", { source, date, added: added.length, changed: models });
      if (held.length === 0) continue;
      log.warn("Changes of prices are held back until they are accepted; run purser prices update", {
        source,
        models: held.map(({ model }) => model),
      });
    } catch (error) {
      if (signal.aborted) return;
      log.warn("The prices could not be updated", { source, reason: messageOf(error) });
    }
  }
}
