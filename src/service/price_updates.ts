import type { Config } from "../config/mod.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { CoreParts } from "./core_parts.ts";

/** Reads updated prices within a minute after any process has written them. */
export async function startPriceReloads(
  { clock, prices, log }: Pick<CoreParts, "clock" | "prices" | "log">,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(MINUTE_MS, signal);
    if (signal.aborted) return;
    try {
      await prices.refresh();
    } catch (error) {
      log.warn("The prices could not be read again", { reason: messageOf(error) });
    }
  }
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
