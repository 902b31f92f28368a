import { exactUsd, NO_PRICE, shortUsd } from "../format/money.ts";

/** An amount of the API. The exact amount is its title; null is no price, which is not $0. */
export function Money({ usd, exact = false }: { usd: number | null | undefined; exact?: boolean }) {
  if (usd === null || usd === undefined) return <span class="muted">{NO_PRICE}</span>;
  return (
    <data class="money" value={String(usd)} title={exactUsd(usd)}>
      {exact ? exactUsd(usd) : shortUsd(usd)}
    </data>
  );
}
