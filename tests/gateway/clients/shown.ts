/* What a client returns or throws, in a form that can be compared. */

/** The headers that differ between any two answers, and those that the gateway adds: an answer's provider sets none of them. */
const OWN_HEADERS =
  /^(date|connection|keep-alive|transfer-encoding|content-length|x-content-type-options|referrer-policy|x-purser-.*)$/;

/** Properties that differ between any two calls. */
const HIDDEN = new Set(["stack", "toolExecutionMs"]);

const isHeaderMap = (name: string) => /headers$/i.test(name);

/**
 * Returns everything that a client's user can see of a value: its class, and all properties, those of errors and hidden ones
 * too. Of headers, those of the provider; addresses without the one in `place`.
 */
export function shown(value: unknown, place: { url: string }): unknown {
  const { origin } = new URL(place.url);
  return show(value, { urls: [place.url, origin], seen: new Set() });
}

interface Showing {
  /** The longer one first. */
  urls: readonly string[];
  seen: Set<object>;
}

function show(value: unknown, showing: Showing, name = ""): unknown {
  if (typeof value === "string") {
    return showing.urls.reduce((text, url) => text.replaceAll(url, "{url}"), value);
  }
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Date.now() - value.getTime() < 600_000 ? "now" : value.toISOString();
  if (value instanceof Headers) return showHeaders(Object.fromEntries(value), showing);
  if (showing.seen.has(value)) return "{seen above}";
  showing.seen.add(value);
  try {
    if (Array.isArray(value)) return value.map((each) => show(each, showing));
    if (isHeaderMap(name)) return showHeaders(value as Record<string, unknown>, showing);
    const shownValue: Record<string, unknown> = {};
    const { constructor } = value;
    if (constructor && constructor !== Object) shownValue["{class}"] = classesOf(value);
    if (value instanceof Error) Object.assign(shownValue, { name: value.name, message: value.message });
    for (const key of Object.getOwnPropertyNames(value)) {
      if (HIDDEN.has(key)) continue;
      const part = show((value as Record<string, unknown>)[key], showing, key);
      if (part !== undefined) shownValue[key] = part;
    }
    return shownValue;
  } finally {
    showing.seen.delete(value);
  }
}

function showHeaders(headers: Record<string, unknown>, showing: Showing): unknown {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name.toLowerCase())).sort()
      .map(([name, value]) => [name, show(value, showing)]),
  );
}

/** Returns the names of a value's classes, its own first. */
function classesOf(value: object): string {
  const names: string[] = [];
  for (
    let prototype = Object.getPrototypeOf(value);
    prototype && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) names.push(prototype.constructor.name);
  return names.join(" < ");
}
