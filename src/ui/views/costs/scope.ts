import { apiPath, hrefWith, type QueryChange } from "../../hooks/route.ts";

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

const KEPT: readonly string[] = ["span", "from", "to", ...FILTERS];

/** Returns the address of another page of the section with the same span and filters, some of them changed. */
export function hrefTo(page: string, change: QueryChange = {}): string {
  const query = new URLSearchParams(location.search);
  const kept = new URLSearchParams([...query].filter(([name]) => KEPT.includes(name)));
  return hrefWith(change, { pathname: `/ui/costs${page && `/${page}`}`, search: `?${kept}` } as Location);
}
