import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { escapeText } from "../../kernel/text.ts";
import { localBriefly } from "../format/time.ts";
import { navigate } from "../hooks/route.ts";
import { Link } from "../parts/link.tsx";
import { fillOf, Patterns } from "./patterns.tsx";
import { classOf, type Point, type Series } from "./series.ts";

/** The properties that every chart has. */
export interface ChartProps {
  title: string;
  /** The content of the chart as a sentence: "$4.10 today, 62% researcher". It is the picture's name for screen readers. */
  finding: string;
  points: readonly Point[];
  series: readonly Series[];
  /** Formats a value, for the axis, the readout and the table. */
  format(value: number): string;
  /** The heading of the first column, such as "Day", beside the zone. */
  pointTitle: string;
  /** The time zone of the points, where they are times. */
  zone?: string;
  height?: number;
}

/** The size of a picture, and the point that is active. */
export interface Drawing {
  width: number;
  height: number;
  active: number | undefined;
  /** The id of the patterns of the series. */
  patterns: string;
}

/**
 * The frame of a chart: finding, legend with the values of the active point, picture, and the data as a table. The picture
 * is one tab stop: arrow keys, Home and End choose a point, Enter opens it, Escape leaves it. For the mouse each point is a
 * link above the picture; for screen readers, in the table.
 */
export function ChartFrame(
  { title, finding, points, series, format, pointTitle, zone, height = 200, margin, mark, draw }:
    & ChartProps
    & {
      /** The space at the left of the first point. */
      margin: number;
      /** The mark of a series, which the legend repeats. */
      mark: "bar" | "line";
      draw(drawing: Drawing): ComponentChildren;
    },
) {
  const box = useRef<HTMLDivElement>(null);
  const patterns = useId();
  const width = useWidth(box);
  const [active, setActive] = useState<number>();
  const shown = active === undefined ? undefined : points[active];
  const step = Math.max(1, width - margin) / Math.max(1, points.length);
  const pick = (event: MouseEvent) => {
    const { left } = (event.currentTarget as Element).getBoundingClientRect();
    const index = Math.floor((event.clientX - left - margin) / step);
    setActive(index >= 0 && index < points.length ? index : undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = points.length - 1;
    const at = active ?? (event.key === "ArrowLeft" ? last + 1 : -1);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (next !== undefined) setActive(Math.max(0, Math.min(last, next)));
    else if (event.key === "Escape") setActive(undefined);
    else if (event.key === "Enter" && shown?.href) return navigate(shown.href);
    else return;
    event.preventDefault();
  };
  return (
    <figure class="chart" aria-label={title}>
      <figcaption class="finding">{escapeText(finding)}</figcaption>
      <Legend series={series} shown={shown} format={format} mark={mark} patterns={patterns} zone={zone} />
      <div
        ref={box}
        class={`chart-box height-${height <= 120 ? "low" : "full"}`}
        onMouseMove={pick}
        onMouseLeave={() => setActive(undefined)}
      >
        {width > 0 && (
          <svg
            role="img"
            aria-label={escapeText(`${title}: ${finding}`)}
            tabindex={points.length > 0 ? 0 : undefined}
            width={width}
            height={height}
            viewBox={`0 0 ${width} ${height}`}
            onBlur={() => setActive(undefined)}
            onKeyDown={onKeyDown}
          >
            {mark === "bar" && <Patterns id={patterns} series={series} />}
            {draw({ width, height, active, patterns })}
          </svg>
        )}
        {width > 0 && points.some(({ href }) => href) && (
          <svg class="chart-links" aria-hidden="true" width={width} height={height}>
            {points.map(({ label, href }, index) =>
              href && (
                <Link key={label} href={href} tabIndex={-1}>
                  <rect x={margin + index * step} width={step} height={height} />
                </Link>
              )
            )}
          </svg>
        )}
      </div>
      <DataTable
        title={title}
        points={points}
        series={series}
        format={format}
        pointTitle={pointTitle}
        zone={zone}
      />
    </figure>
  );
}

function Legend({ series, shown, format, mark, patterns, zone }: {
  zone: string | undefined;
  series: readonly Series[];
  shown: Point | undefined;
  mark: "bar" | "line";
  patterns: string;
  format(value: number): string;
}) {
  return (
    <div class="legend">
      <ul>
        {series.map((one, index) => {
          const value = shown?.values.get(one.key);
          return (
            <li key={one.key}>
              <svg class={`key ${classOf(index)}`} width="18" height="12" aria-hidden="true">
                {mark === "line"
                  ? <path class="line" d="M0 6h18" />
                  : <rect fill={fillOf(patterns, index)} width="18" height="12" rx="2" />}
              </svg>
              <span class="legend-name">{escapeText(one.label)}</span>
              <span class="legend-value">{shown ? (value == null ? "–" : format(value)) : one.note}</span>
            </li>
          );
        })}
      </ul>
      <output class="readout" aria-live="polite">
        {shown && (
          <>
            {escapeText(shown.label)}
            {shown.at !== undefined && localBriefly(shown.at, zone)}
          </>
        )}
      </output>
    </div>
  );
}

function DataTable(
  { title, points, series, format, pointTitle, zone }: Omit<ChartProps, "finding" | "height">,
) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="chart-data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Data as a table</summary>
      {isOpen && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label={`${title}: data`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{zone ? `${pointTitle} (${zone})` : pointTitle}</th>
                {series.map(({ key, label }) => (
                  <th key={key} scope="col" class="number">{escapeText(label)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {points.map(({ label, values, href }) => (
                <tr key={label}>
                  <th scope="row">
                    <Link href={href}>{escapeText(label)}</Link>
                  </th>
                  {series.map(({ key }) => {
                    const value = values.get(key);
                    return <td key={key} class="number">{value == null ? "–" : format(value)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

/** Returns the width of an element, and renders again when it changes. */
export function useWidth(ref: { current: Element | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    setWidth(Math.floor(element.getBoundingClientRect().width));
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}
