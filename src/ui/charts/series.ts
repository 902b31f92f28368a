/** A series of a chart; the order is that of the stack, and decides the colour. */
export interface Series {
  key: string;
  label: string;
  /** The text beside the label where no point is active, such as a total that the server has computed. */
  note?: string;
}

/** A point of the horizontal axis. */
export interface Point {
  /** Names the point: a day, an hour. */
  label: string;
  /** The label on the axis; default: `label`. */
  short?: string;
  /** The start of a day or an hour; the readout has it in the reader's own zone too. */
  at?: number;
  /** By the key of a series; an absent one has no value. A map, since a key may be any name, such as `constructor`. */
  values: ReadonlyMap<string, number | null>;
  /** The sum of the server over all series, for the readout. */
  total?: number | null;
  /** The page with the parts of the point. */
  href?: string;
}

/** The key of the series that has the rest: it is grey. */
export const OTHER = "other";

/** Series with a colour of their own; further ones belong to `OTHER`, summed by the server. */
export const MAX_SERIES = 6;

/** Returns the class of a series: `series-1` to `series-6`, or `series-other`. */
export function classOf({ key }: Series, index: number): string {
  return key === OTHER || index >= MAX_SERIES ? "series-other" : `series-${index + 1}`;
}
