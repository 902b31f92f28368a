import { apiPath, hrefWith } from "../../hooks/route.ts";

/** The filters of the reports in the URL, besides the span. */
export const FILTERS = ["agent_id", "provider", "model", "key_id", "tag"] as const;
export type Filter = typeof FILTERS[number];

/** Returns the filters that are set. */
export function filtersOf(query: URLSearchParams): Partial<Record<Filter, string>> {
  return Object.fromEntries(FILTERS.flatMap((name) => {
    const value = query.get(name);
    return value ? [[name, value]] : [];
  }));
}

/** Returns the address of a report with the filters of the URL. */
export function costPath(
  path: string,
  query: URLSearchParams,
  more: Readonly<Record<string, string | number | undefined>>,
): string {
  return apiPath(path, { ...filtersOf(query), ...more });
}

/** Returns the address of another page of the section with the same span and filters. */
export function hrefTo(page: string, keep: readonly string[] = ["span", "from", "to", ...FILTERS]): string {
  const { search } = location;
  const query = new URLSearchParams(search);
  const kept = new URLSearchParams([...query].filter(([name]) => keep.includes(name)));
  return hrefWith({}, { pathname: `/ui/costs${page && `/${page}`}`, search: `?${kept}` } as Location);
}
