/**
 * Parses valid JSON text in which an object has a key that ends with a backslash.
 *
 * V8 15.0 compares a key with that of an earlier object of the same shape, and parses `{"x":1,"\n":2}` as
 * `{"x":1,"\\":2}` once it has parsed the latter. So text with such a key is parsed again here, where each key is parsed
 * by itself. It is ten times slower, and such keys are rare.
 */
export function parseSlowly(text: string): unknown {
  let at = 0;
  const skipSpace = () => {
    while (" \t\n\r".includes(text[at] ?? "x")) at++;
  };
  const readString = (): string => {
    const start = at;
    do at = text.indexOf('"', at + 1); while (countBackslashes(text, at) % 2 === 1);
    return JSON.parse(text.slice(start, ++at));
  };
  const readItems = (close: string, readItem: () => void) => {
    at++;
    for (skipSpace(); text[at] !== close; skipSpace()) {
      if (text[at] === ",") at++;
      else readItem();
    }
    at++;
  };
  const read = (): unknown => {
    skipSpace();
    if (text[at] === '"') return readString();
    if (text[at] === "[") {
      const list: unknown[] = [];
      readItems("]", () => list.push(read()));
      return list;
    }
    if (text[at] === "{") {
      const entries: [string, unknown][] = [];
      readItems("}", () => {
        const key = readString();
        skipSpace();
        at++; // the colon
        entries.push([key, read()]);
      });
      return Object.fromEntries(entries);
    }
    const start = at;
    while (at < text.length && !" \t\n\r,]}".includes(text[at]!)) at++;
    return JSON.parse(text.slice(start, at));
  };
  return read();
}

function countBackslashes(text: string, before: number): number {
  let count = 0;
  while (text[before - 1 - count] === "\\") count++;
  return count;
}
