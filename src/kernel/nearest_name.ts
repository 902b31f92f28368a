/**
 * Returns the known name closest to a mistyped one: it begins with it, or at most half of its letters differ.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const allowed = Math.floor(name.length / 2);
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance || a.candidate.length - b.candidate.length);
  return ranked[0]?.candidate;
}

function distanceOf(typed: string, candidate: string): number {
  if (typed === candidate) return 0;
  return typed.length > 2 && candidate.startsWith(typed) ? 1 : editDistance(typed, candidate);
}

/** Returns whether a name is another one with a slip of the keyboard: a letter more, less or other, or two swapped. Numbers tell names apart. */
export function isSlipOf(name: string, known: string): boolean {
  const [a, b] = [name.toLowerCase(), known.toLowerCase()];
  if (a === b || a.length < 4 || a.replaceAll(/\d+/g, "") === b.replaceAll(/\d+/g, "")) return false;
  const distance = editDistance(a, b);
  return distance === 1 || distance === 2 && [...a].sort().join("") === [...b].sort().join("");
}

/** Computes the Levenshtein distance, row by row. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
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
