import { areaOf, Axes, MARGIN, yOf } from "./axes.tsx";
import { ChartFrame, type ChartProps } from "./frame.tsx";
import { scaleTo } from "./scale.ts";
import { classOf } from "./series.ts";

/** Lines over points in time; each has a pattern of dashes besides its colour. A point without a value is a gap. */
export function LineChart(props: ChartProps) {
  const { points, series, format, zone } = props;
  const scale = scaleTo(
    Math.max(0, ...points.flatMap(({ values }) => series.map(({ key }) => values.get(key) ?? 0))),
  );
  return (
    <ChartFrame
      {...props}
      margin={MARGIN.left}
      mark="line"
      draw={({ width, height, active }) => {
        const area = areaOf(width, height);
        const step = area.width / Math.max(1, points.length);
        const xOf = (index: number) => area.left + (index + 0.5) * step;
        return (
          <>
            <Axes area={area} scale={scale} points={points} format={format} zone={zone} />
            {active !== undefined && (
              <line
                class="cursor"
                x1={xOf(active)}
                x2={xOf(active)}
                y1={area.top}
                y2={area.top + area.height}
              />
            )}
            {series.map((one, order) => {
              let isOpen = false;
              const path = points.map(({ values }, index) => {
                const value = values.get(one.key);
                const move = value == null
                  ? ""
                  : `${isOpen ? "L" : "M"}${xOf(index)} ${yOf(value, scale, area)}`;
                isOpen = value != null;
                return move;
              }).join("");
              const value = active === undefined ? undefined : points[active]?.values.get(one.key);
              return (
                <g key={one.key} class={classOf(order)}>
                  <path class="line" d={path} />
                  {value != null && (
                    <circle class="dot" cx={xOf(active!)} cy={yOf(value, scale, area)} r="4" />
                  )}
                </g>
              );
            })}
          </>
        );
      }}
    />
  );
}
