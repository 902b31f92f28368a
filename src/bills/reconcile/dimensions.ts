import type { BillLine } from "../lines/bill_line.ts";

/** The dimensions by which lines and calls are compared, besides the model and the time. */
export const DIMENSIONS = ["credential", "project", "serviceTier", "region", "speed", "context"] as const;
export type DimensionName = typeof DIMENSIONS[number];

/** The dimensions of a line or a call. One that one of the two sides never states is left out of all. */
export type Dimensions = { [Name in DimensionName]?: string } & { model?: string };

/** The dimensions that the lines of a series state and the ledger knows: others can't be compared. */
export type Grain = readonly (DimensionName | "model")[];

/** The class of the context from which a long one costs more, as Anthropic's bills name it. */
export const LONG_CONTEXT_TOKENS = 200_000;
const STANDARD = "standard";
const SHORT = "short";
const LONG = "long";

/** Returns the service tier by which both sides are compared: a batch is a tier of its own. */
export function tierOf(serviceTier: string | undefined, isBatch: boolean | undefined): string {
  if (isBatch) return "batch";
  const tier = serviceTier?.toLowerCase() ?? STANDARD;
  return tier === "default" || tier === "auto" || tier === "" ? STANDARD : tier;
}

export const contextOf = (isLong: boolean): string => isLong ? LONG : SHORT;

/** Returns the dimensions of a line, in the words of the ledger. */
export function dimensionsOfLine(
  line: BillLine,
  grain: Grain,
  aliases: ReadonlyMap<string, string>,
): Dimensions {
  const all: Dimensions = {
    credential: line.credential,
    project: line.project,
    serviceTier: tierOf(line.serviceTier, line.isBatch),
    region: regionOf(line.region),
    speed: speedOf(line.speed),
    context: contextOf(line.context !== undefined && !/^0-/.test(line.context)),
  };
  if (line.model !== undefined) all.model = aliases.get(line.model) ?? line.model;
  return pick(all, grain);
}

export const speedOf = (speed: string | undefined): string => speed?.toLowerCase() ?? STANDARD;

/** Returns a region; without one, and where a provider says that it doesn't tell, it is the same: anywhere. */
export const regionOf = (region: string | undefined): string =>
  region === undefined || /^(?:global|not_available|)$/i.test(region) ? "global" : region.toLowerCase();

/** Returns the dimensions by which cells are told apart. */
export function pick(all: Dimensions, grain: Grain): Dimensions {
  const picked: Dimensions = {};
  for (const name of grain) if (all[name] !== undefined) picked[name] = all[name];
  return picked;
}

/** Returns dimensions as a text: the same for the same ones. */
export function textOf(dimensions: Dimensions): string {
  let text = dimensions.model ?? "";
  for (const name of DIMENSIONS) text += `\0${dimensions[name] ?? ""}`;
  return text;
}

/** Returns a model's name without what providers add: a vendor, a date, a region, and the spaces of a title. */
const bareName = (model: string) =>
  model.toLowerCase().replaceAll(" ", "-").replace(VENDOR, "").replace(DATE, "");
const VENDOR = /^.*\//;
const DATE = /[-@](?:20\d\d-?\d\d-?\d\d|latest|default|\d{3})$/;

/** Returns the names of the ledger for the models that a bill names otherwise, where only one of them is the same but for a date or a vendor. */
export function matchModels(billed: readonly string[], booked: readonly string[]): Map<string, string> {
  const known = new Set(booked);
  const byBareName = new Map<string, string[]>();
  for (const model of booked) {
    byBareName.set(bareName(model), [...byBareName.get(bareName(model)) ?? [], model]);
  }
  const aliases = new Map<string, string>();
  for (const model of billed) {
    const same = byBareName.get(bareName(model));
    if (!known.has(model) && same?.length === 1) aliases.set(model, same[0]!);
  }
  return aliases;
}
