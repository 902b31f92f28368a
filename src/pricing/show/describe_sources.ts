import type { PriceSource } from "../../contract/prices.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import type { PricesInUse } from "../prices.ts";
import { listEntries } from "../updates/entries.ts";

/** Describes where the listed prices come from, in the order in which they apply. */
export function describeSources({ listed }: PricesInUse, now: number): PriceSource[] {
  return [listed.genai, listed.litellm].map((data) => ({
    name: data.source,
    date: data.date,
    age_days: Math.max(0, Math.floor((now - Date.parse(data.date)) / DAY_MS)),
    origin: listed.updated.has(data.source) ? "update" : "release",
    url: data.url ?? null,
    models: listEntries(data).length,
  }));
}
