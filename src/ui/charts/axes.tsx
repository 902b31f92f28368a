import { escapeText } from "../../kernel/text.ts";
import { fittingLabels, type Scale } from "./scale.ts";
import type { Point } from "./series.ts";

/** The area of the marks within a picture. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The room for labels: amounts at the left, days below. */
export const MARGIN = { left: 56, bottom: 24, top: 8 };

export function areaOf(width: number, height: number): Area {
  return {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(1, width - MARGIN.left),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
  };
}

/** Returns the vertical position of a value. */
export function yOf(value: number, { max }: Scale, { top, height }: Area): number {
  return top + height - value / max * height;
}

/** The line of zero, above bars whose border would interrupt it. */
export function BaseLine({ area, scale }: { area: Area; scale: Scale }) {
  const y = Math.round(yOf(0, scale, area)) + 0.5;
  return <line class="base" x1={area.left} x2={area.left + area.width} y1={y} y2={y} />;
}

/** The lines and labels of both axes. */
export function Axes({ area, scale, points, format, zone }: {
  area: Area;
  scale: Scale;
  points: readonly Point[];
  zone: string | undefined;
  format(value: number): string;
}) {
  const labels = fittingLabels(points.length, area.width, 64);
  const step = area.width / Math.max(1, points.length);
  return (
    <g class="axes" aria-hidden="true">
      {scale.ticks.map((tick) => {
        const y = Math.round(yOf(tick, scale, area)) + 0.5;
        return (
          <g key={tick}>
            <line
              x1={area.left}
              x2={area.left + area.width}
              y1={y}
              y2={y}
              class={tick === 0 ? "base" : "grid-line"}
            />
            <text x={area.left - 8} y={y + 4} text-anchor="end">{format(tick).replace(/\.00$/, "")}</text>
          </g>
        );
      })}
      {zone === "UTC" && <text x={area.left - 8} y={area.top + area.height + 18} text-anchor="end">UTC</text>}
      {points.map(({ label, short }, index) =>
        labels.has(index) && (
          <text
            key={label}
            x={Math.min(area.left + (index + 0.5) * step, area.left + area.width - 20)}
            y={area.top + area.height + 18}
            text-anchor="middle"
          >
            {escapeText(short ?? label)}
          </text>
        )
      )}
    </g>
  );
}
