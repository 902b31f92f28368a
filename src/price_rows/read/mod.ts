/** Reads the prices that people set; it is loaded by each process. */

import type { PriceOverride } from "../../contract/price_override.ts";
import type { Store } from "../../store/mod.ts";

/** The columns of a price. */
interface Columns {
  provider: string;
  model: string;
  serviceTier: string | null;
  fromDay: string | null;
  /** The rates, or what a contract changes and where. */
  rates: Readonly<Record<string, number | string>>;
}

/** Converts the columns of a price to what its author has written. */
export function toOverride({ provider, model, serviceTier, fromDay, rates }: Columns): PriceOverride {
  return {
    provider,
    model,
    ...(serviceTier !== null && { service_tier: serviceTier }),
    ...(fromDay !== null && { from: fromDay }),
    ...rates,
  } as PriceOverride;
}

const READ = "SELECT provider, model, service_tier, from_day, rates FROM price_rows ORDER BY name";

/** Reads all prices that are set, for a price book. */
export async function readPrices({ store }: { store: Pick<Store, "read"> }): Promise<PriceOverride[]> {
  const { rows } = await store.read({ sql: READ });
  return (rows as [string, string, string | null, string | null, string][]).map((
    [provider, model, serviceTier, fromDay, rates],
  ) => toOverride({ provider, model, serviceTier, fromDay, rates: JSON.parse(rates) }));
}
