import { useLayoutEffect, useState } from "preact/hooks";

/** The location of the page: its path below `/ui/`, and the filters of the view as the URL's query. */
export interface Route {
  /** The segments below `/ui/`: `["sessions", "ses_1"]`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** The address of the home page. */
export const HOME = "/ui/";
/** The page of what the key that is signed in has spent. */
export const OWN_PAGE = `${HOME}me`;
const listeners = new Set<() => void>();

function readRoute(): Route {
  const { pathname, search } = location;
  const parts = pathname.slice(HOME.length).split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts, query: new URLSearchParams(search) };
}

function announce(): void {
  for (const listener of listeners) listener();
}

if (typeof addEventListener === "function") addEventListener("popstate", announce);

/** Returns the current route, and renders again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  // Not after the page has been drawn: a change until then would go unnoticed.
  useLayoutEffect(() => {
    const update = () => setRoute(readRoute());
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  return route;
}

/** Opens another page of the dashboard without loading it anew. */
export function navigate(href: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  announce();
  if (!replace) scrollTo(0, 0);
}

/** A part of the URL's query; undefined and '' remove a parameter, and a list repeats it. */
export type QueryChange = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the address of this page with some parameters changed. Another filter begins at the first page. */
export function hrefWith(change: QueryChange, { pathname, search } = location): string {
  const query = new URLSearchParams(search);
  if (!("cursor" in change)) query.delete("cursor");
  for (const [name, value] of Object.entries(change)) {
    query.delete(name);
    for (const one of [value ?? []].flat()) if (one !== "") query.append(name, one);
  }
  const text = query.toString();
  return text ? `${pathname}?${text}` : pathname;
}

/** Changes filters in the URL. They replace the entry in the history, so that Back leaves the view. */
export function setQuery(change: QueryChange): void {
  navigate(hrefWith(change), { replace: true });
}

/** Returns the address of a page: `uiPath("sessions", id)` is `/ui/sessions/ses_1`. */
export function uiPath(...parts: string[]): string {
  return HOME + parts.map(encodeURIComponent).join("/");
}

/** Returns an address of the API with the parameters that have a value; a list repeats its parameter. */
export function apiPath(
  path: string,
  query: Readonly<Record<string, string | number | readonly string[] | null | undefined>>,
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().filter((one) => one !== "").map((one) => [name, String(one)])
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
