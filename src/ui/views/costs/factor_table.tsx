import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { count } from "../../format/number.ts";
import { Empty } from "../../parts/loaded.tsx";
import { change } from "./difference.tsx";
import { type Factors, factorsOf } from "./factors.ts";

/** The change of the cost as a product of its factors. */
export function FactorTable({ total, models, title }: {
  total: CostTotal;
  models: readonly CostRow[];
  title: string;
}) {
  const { previous } = total;
  const factors = factorsOf(total, previous, models);
  if (!factors || !previous) {
    return (
      <Empty title="Nothing to compare">
        Both the {title} and the one before need calls with a price.
      </Empty>
    );
  }
  const rows: [string, string, number][] = [
    ["Calls", `${count(previous.model_calls)} → ${count(total.model_calls)}`, factors.calls],
    ["Tokens per call", `${perCall(previous)} → ${perCall(total)}`, factors.tokens],
    ["Mix of models", "tokens that moved to dearer or cheaper models", factors.mix],
    ["Price per token within a model", "prices, share of output, reads from caches", factors.price],
  ];
  return (
    <>
      <p class="finding">{findingOf(factors)}</p>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Factors of the change">
        <table class="factors">
          <caption class="hidden">Factors of the change, which multiply to that of the cost</caption>
          <thead>
            <tr>
              <th scope="col">Factor</th>
              <th scope="col">From → to</th>
              <th scope="col" class="number">Effect on the cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, values, ratio]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="muted">{values}</td>
                <td class="number">{change(ratio)}</td>
              </tr>
            ))}
            <tr class="sum">
              <th scope="row">Cost</th>
              <td class="muted">all factors multiplied</td>
              <td class="number">{change(factors.cost)}</td>
            </tr>
          </tbody>
        </table>
      </div>
      {total.unpriced_calls + previous.unpriced_calls > 0 && (
        <p class="muted factor-note">Calls without a price count as calls and tokens, not as cost.</p>
      )}
    </>
  );
}

const perCall = ({ total_tokens, model_calls }: { total_tokens: number; model_calls: number }) =>
  count(Math.round(total_tokens / Math.max(1, model_calls)));

function findingOf({ cost, ...factors }: Factors): string {
  const names: Readonly<Record<keyof typeof factors, [more: string, less: string]>> = {
    calls: ["more calls", "fewer calls"],
    tokens: ["more tokens per call", "fewer tokens per call"],
    mix: ["dearer models", "cheaper models"],
    price: ["a higher price per token", "a lower price per token"],
  };
  const strongest = (Object.keys(names) as (keyof typeof factors)[])
    .filter((name) => (factors[name] > 1) === (cost > 1))
    .sort((a, b) => Math.abs(Math.log(factors[b])) - Math.abs(Math.log(factors[a])))[0];
  const verb = cost > 1 ? "rose" : "fell";
  const cause = strongest &&
    `, mostly by ${names[strongest][factors[strongest] > 1 ? 0 : 1]} (${change(factors[strongest])})`;
  return Math.abs(cost - 1) < 0.005
    ? "The cost is the same"
    : `The cost ${verb} (${change(cost)})${cause ?? ""}`;
}
