import { type Dimension, dimension, DIMENSIONS, SPLIT } from "../../../contract/costs/dimensions.ts";
import { apiPath, hrefWith, type QueryChange } from "../../hooks/route.ts";

/** The filters of the reports in the URL, besides the span: those of dimensions, and tags. */
export const FILTERS = [...SPLIT.map((name) => DIMENSIONS[name].field), "tag"] as const;
export type Filter = typeof FILTERS[number];

/** Returns the dimension that a filter selects a value of; undefined for a tag. */
export const dimensionOf = (filter: Filter) => SPLIT.find((name) => DIMENSIONS[name].field === filter);

/** Returns whether a dimension has names beside its ids. */
export const isNamed = (name: Dimension) => dimension(name)?.nameField !== undefined;

/** Returns what a filter is called, and an example of a value. */
export function labelOf(filter: Filter): string {
  const name = dimensionOf(filter) ?? filter;
  return name[0]!.toUpperCase() + name.slice(1);
}

export function exampleOf(filter: Filter): string {
  const name = dimensionOf(filter);
  return name === undefined ? "customer:acme" : DIMENSIONS[name].example;
}

/** Returns the filters that are set, each with its value: of tags there may be several, each of another key. */
export function filtersOf(query: URLSearchParams): [name: Filter, value: string][] {
  return FILTERS.flatMap((name) =>
    query.getAll(name).filter(Boolean).map((value): [Filter, string] => [name, value])
  );
}

/** Returns the tags of the URL, with one of the same key replaced by another, `customer:acme`. */
export function tagsWith(tag: string): string[] {
  const key = `${tag.split(":")[0]}:`;
  const others = new URLSearchParams(location.search).getAll("tag").filter((other) => !other.startsWith(key));
  return [...others, tag];
}

/** Returns the address of a report with the filters of the URL. */
export function costPath(
  path: string,
  query: URLSearchParams,
  more: Readonly<Record<string, string | number | undefined>>,
): string {
  return apiPath(path, {
    ...Object.fromEntries(FILTERS.map((name) => [name, query.getAll(name)])),
    ...more,
  });
}

const KEPT: readonly string[] = ["span", "from", "to", ...FILTERS];

/** Returns the address of another page of the section with the same span and filters, some of them changed. */
export function hrefTo(page: string, change: QueryChange = {}): string {
  const query = new URLSearchParams(location.search);
  const kept = new URLSearchParams([...query].filter(([name]) => KEPT.includes(name)));
  return hrefWith(change, { pathname: `/ui/costs${page && `/${page}`}`, search: `?${kept}` } as Location);
}
