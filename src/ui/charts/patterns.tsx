import { classOf, type Series } from "./series.ts";

/*
 * The patterns of series, so that none is distinguished by its colour alone: lines or dots in the colour of the surface, on that
 * of the series. The first series is plain.
 */

/** The size of the square that is repeated. */
const SIZE = 6;

const PATHS: Readonly<Record<string, string>> = {
  "series-1": "",
  "series-2": "M-1 1l2-2M0 6l6-6M5 7l2-2",
  "series-3": "M2 2h2v2h-2z",
  "series-4": "M-1 5l2 2M0 0l6 6M5-1l2 2",
  "series-5": "M0 3h6",
  "series-6": "M3 0v6",
};

/** Returns the fill of a series, by the patterns with an id. */
export const fillOf = (id: string, index: number) => `url(#${id}-${classOf(index)})`;

/** The patterns of a chart's series, within a picture. */
export function Patterns({ id, series }: { id: string; series: readonly Series[] }) {
  return (
    <defs>
      {series.map((one, index) => {
        const name = classOf(index);
        return (
          <pattern
            key={one.key}
            id={`${id}-${name}`}
            class={name}
            width={SIZE}
            height={SIZE}
            patternUnits="userSpaceOnUse"
          >
            <rect class="pattern-back" width={SIZE} height={SIZE} />
            <path class="pattern-mark" d={PATHS[name]} />
          </pattern>
        );
      })}
    </defs>
  );
}
