import type { Store } from "../store/mod.ts";

/** Calls of one provider that have stated another cost than the booked one, by more than 1%. */
export interface StatedApart {
  provider: string;
  calls: number;
  /** USD, to about fifteen digits: what providers state may exceed any sum in nano-USD. */
  statedUsd: number;
  bookedUsd: number;
}

/** SQL for a sum in USD, which may exceed that of integers. */
const usd = (column: string) => `coalesce(sum(CAST(${column} AS DOUBLE PRECISION)), 0) / 1e9`;

// A row of `prices` decides on purpose.
const VALUE = "coalesce(plan_nano_usd, cost_nano_usd)";
const READ = `SELECT provider, count(*), ${usd("stated_nano_usd")}, ${usd(VALUE)}
FROM calls WHERE stated_nano_usd IS NOT NULL AND at >= ?1 AND price_source <> 'config' AND adjusts IS NULL
  AND (cost_nano_usd IS NULL OR abs(stated_nano_usd - ${VALUE}) * 100.0 > ${VALUE})
GROUP BY provider ORDER BY count(*) DESC, provider`;

/** Reads which providers have stated costs since `from` that were not booked, most calls first. */
export async function readStatedApart(
  { store }: { store: Pick<Store, "read"> },
  from: number,
): Promise<StatedApart[]> {
  const { rows } = await store.read({ sql: READ, args: [from] });
  return rows.map(([provider, calls, statedUsd, bookedUsd]) => ({
    provider: provider as string,
    calls: Number(calls),
    statedUsd: Number(statedUsd),
    bookedUsd: Number(bookedUsd),
  }));
}
