/** How deep a value may be nested that enters a session or comes from a file. */
export const MAX_JSON_DEPTH = 500;

/** A key that assignment would take for an object's prototype; no portable document has it. */
export const FORBIDDEN_KEY = "__proto__";

/** Hears what keeps a value from being portable, and where it stands. */
export type OnJsonFault = (path: readonly (string | number)[], message: string) => void;

/** A value as canonical JSON, and the number of keys in it. */
export interface CanonicalJson {
  text: string;
  keyCount: number;
  /** Whether a key ends with a backslash, which may be V8's mistake: see `parseSlowly`. */
  hasBackslashKey: boolean;
}

/**
 * A plain JSON value as canonical JSON: no white space, keys sorted by UTF-16 units, numbers and strings as
 * ECMAScript writes them (RFC 8785). What has no portable form (a lone surrogate, a number that is not finite,
 * a `__proto__` key) is told to `onFault`; without one, it throws a `TypeError`.
 */
export function canonicalize(value: unknown, onFault: OnJsonFault = refuse): CanonicalJson {
  const path: (string | number)[] = [];
  let keyCount = 0;
  let hasBackslashKey = false;
  const write = (item: unknown): string => {
    if (typeof item === "string") {
      if (!item.isWellFormed()) onFault([...path], "has a lone surrogate, which is no Unicode text");
      return JSON.stringify(item);
    }
    if (typeof item === "number") {
      if (!Number.isFinite(item)) onFault([...path], "is a number that is too large");
      return JSON.stringify(item);
    }
    if (typeof item !== "object" || item === null) return JSON.stringify(item);
    if (Array.isArray(item)) {
      let text = "[";
      for (let index = 0; index < item.length; index++) {
        path.push(index);
        text += (index === 0 ? "" : ",") + write(item[index]);
        path.pop();
      }
      return text + "]";
    }
    const keys = Object.keys(item);
    keyCount += keys.length;
    let text = "{";
    for (const key of keys.sort(byUnits)) {
      path.push(key);
      if (key.endsWith("\\")) hasBackslashKey = true;
      if (key === FORBIDDEN_KEY) onFault([...path], "is a key that is not allowed");
      if (!key.isWellFormed()) onFault([...path], "has a lone surrogate in its name");
      text += (text === "{" ? "" : ",") + JSON.stringify(key) + ":" +
        write((item as Record<string, unknown>)[key]);
      path.pop();
    }
    return text + "}";
  };
  const text = write(value);
  return { text, keyCount, hasBackslashKey };
}

/** The canonical text of a plain JSON value. Throws a `TypeError` on one that is not portable. */
export function toCanonicalText(value: unknown): string {
  return canonicalize(value).text;
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function refuse(path: readonly (string | number)[], message: string): never {
  throw new TypeError(`Cannot write canonical JSON: ${path.join(".")} ${message}`);
}
