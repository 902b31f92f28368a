import { escapeText } from "../../kernel/text.ts";

const [WIDTH, HEIGHT] = [96, 24];

/** A small line without axes; `label` says what it shows: "Spend of the last 14 days, $0.20 to $4.10". */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const max = Math.max(...values, 0) || 1;
  const x = (index: number) => 2 + index * (WIDTH - 4) / Math.max(1, values.length - 1);
  const y = (value: number) => HEIGHT - 3 - value / max * (HEIGHT - 6);
  const line = values.map((value, index) => `${index === 0 ? "M" : "L"}${x(index)} ${y(value)}`).join("");
  const last = values.at(-1);
  return (
    <svg class="sparkline series-1" role="img" aria-label={escapeText(label)} width={WIDTH} height={HEIGHT}>
      {values.length > 1 && (
        <path class="area" d={`${line}L${x(values.length - 1)} ${HEIGHT}L${x(0)} ${HEIGHT}Z`} />
      )}
      <path class="line" d={line} />
      {last !== undefined && <circle class="dot" cx={x(values.length - 1)} cy={y(last)} r="2.5" />}
    </svg>
  );
}
