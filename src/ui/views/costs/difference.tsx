import { shortUsd } from "../../format/money.ts";
import { useContext } from "preact/hooks";
import { DecimalsContext, Money } from "../../parts/money.tsx";

/** A difference of the server with its sign; the colour repeats it, unless `zero` says what a difference of nothing is called where none is bad. */
export function Difference({ usd, zero }: { usd: number | null | undefined; zero?: string }) {
  const decimals = useContext(DecimalsContext);
  if (usd === null || usd === undefined) return <Money usd={null} />;
  if (usd === 0) return <span>{zero ?? "no change"}</span>;
  return (
    <data
      class={zero !== undefined ? "money" : usd > 0 ? "difference more" : "difference less"}
      value={String(usd)}
    >
      {usd > 0 ? `+${shortUsd(usd, decimals)}` : shortUsd(usd, decimals).replace("-", "−")}
    </data>
  );
}

/** Returns a change as a percentage with its sign: `+25%`. */
export function change(ratio: number): string {
  const points = Math.round((ratio - 1) * 100);
  if (points === 0) return ratio === 1 ? "0%" : ratio > 1 ? "+<1%" : "−<1%";
  return points > 0 ? `+${points}%` : `−${-points}%`;
}
