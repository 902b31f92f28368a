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
  /** The page with the parts of the point. */
  href?: string;
}

/** The most series of a chart: each has a colour of its own. */
export const MAX_SERIES = 6;

/** Returns the class of a series, by which it has its colour: `series-1` to `series-6`. */
export const classOf = (index: number) => `series-${index + 1}`;
