/** Splits a command line into words, `"…"` as one. Enough of a shell for tests. */
export function splitLine(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}
