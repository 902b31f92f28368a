import { areaOf, Axes, BaseLine, MARGIN, yOf } from "./axes.tsx";
import { ChartFrame, type ChartProps } from "./frame.tsx";
import { fillOf } from "./patterns.tsx";
import { scaleTo } from "./scale.ts";
import { classOf } from "./series.ts";

/** Bars over points in time, stacked where there are several series. */
export function BarChart(props: ChartProps) {
  const { points, series, format, zone } = props;
  const largest = Math.max(
    0,
    ...points.map(({ values }) => series.reduce((sum, { key }) => sum + (values.get(key) ?? 0), 0)),
  );
  const scale = scaleTo(largest);
  return (
    <ChartFrame
      {...props}
      margin={MARGIN.left}
      mark="bar"
      draw={({ width, height, active, patterns }) => {
        const area = areaOf(width, height);
        const step = area.width / Math.max(1, points.length);
        const bar = Math.max(1, Math.min(40, step * 0.72));
        return (
          <>
            <Axes area={area} scale={scale} points={points} format={format} zone={zone} />
            {active !== undefined && (
              <rect
                class="active-band"
                x={area.left + active * step}
                y={area.top}
                width={step}
                height={area.height}
              />
            )}
            {points.map(({ label, values }, index) => {
              let below = 0;
              return (
                <g key={label} class={active !== undefined && active !== index ? "dimmed" : undefined}>
                  {series.map((one, order) => {
                    const value = values.get(one.key) ?? 0;
                    if (!(value > 0)) return null;
                    const bottom = yOf(below, scale, area);
                    const top = yOf(below += value, scale, area);
                    return (
                      <rect
                        key={one.key}
                        class={classOf(order)}
                        fill={fillOf(patterns, order)}
                        x={area.left + index * step + (step - bar) / 2}
                        y={top}
                        width={bar}
                        height={Math.max(1, bottom - top)}
                      />
                    );
                  })}
                </g>
              );
            })}
            <BaseLine area={area} scale={scale} />
          </>
        );
      }}
    />
  );
}
