/** Names over this length are compared by their beginning. */
const MAX_LENGTH = 100;

/** Returns the names nearest to a wanted one by edits, at most `limit`, and none that differs in over half of its letters. */
export function nearestNames(wanted: string, names: readonly string[], limit: number): string[] {
  const lower = wanted.toLowerCase().slice(0, MAX_LENGTH);
  const most = Math.ceil(lower.length / 2);
  return names
    .map((name) => ({ name, edits: editDistance(lower, name.toLowerCase().slice(0, MAX_LENGTH)) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name);
}

/** The number of letters to insert, remove or replace between two texts (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
