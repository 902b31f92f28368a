import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { exactUsd, NO_PRICE, shortUsd } from "../format/money.ts";

/** The decimals of the amounts of a column; undefined outside of one. */
export const DecimalsContext = createContext<number | undefined>(undefined);

/** An amount of the API. The exact amount is its title; null is no price, or what `none` says, which is not $0. */
export function Money({ usd, none = NO_PRICE }: { usd: number | null | undefined; none?: string }) {
  const decimals = useContext(DecimalsContext);
  if (usd === null || usd === undefined) return <span class="muted">{none}</span>;
  return (
    <data class="money" value={String(usd)} title={exactUsd(usd)}>
      {shortUsd(usd, decimals)}
    </data>
  );
}
