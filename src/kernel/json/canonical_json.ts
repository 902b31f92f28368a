/** The maximum nesting of a value in a session. */
export const MAX_JSON_DEPTH = 500;

/** The key whose assignment sets an object's prototype; portable documents don't contain it. */
export const FORBIDDEN_KEY = "__proto__";

/** Receives each fault that makes a value not portable, and its path. */
export type OnJsonFault = (path: readonly (string | number)[], message: string) => void;

/** Canonical JSON, and the number of its keys. */
export interface CanonicalJson {
  text: string;
  keyCount: number;
  /** True if a key ends with a backslash, which may be a V8 bug: see `readJson`. */
  hasBackslashKey: boolean;
}

/**
 * Converts a plain JSON value to canonical JSON: no white space, keys sorted by UTF-16 units, numbers and strings as in
 * ECMAScript (RFC 8785). Values without a portable form (a lone surrogate, a number that is not finite, a `__proto__`
 * key) are reported to `onFault`; without it, they throw a `TypeError`.
 */
export function canonicalize(value: unknown, onFault: OnJsonFault = throwJsonFault): CanonicalJson {
  const path: (string | number)[] = [];
  let keyCount = 0;
  let hasBackslashKey = false;
  const write = (item: unknown): string => {
    if (typeof item === "string") {
      if (!item.isWellFormed()) onFault([...path], "has a lone surrogate, which is not valid Unicode");
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

/** Returns the canonical JSON text of a plain JSON value. Throws a `TypeError` on one that is not portable. */
export function toCanonicalText(value: unknown): string {
  return canonicalize(value).text;
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Throws a `TypeError` for a value that is not portable. */
export function throwJsonFault(path: readonly (string | number)[], message: string): never {
  throw new TypeError(`Cannot write canonical JSON: ${path.join(".")} ${message}`);
}
