/** Returns the file of a bundle that the bundler made of the module `name`: it adds a hash. Throws unless there is just one. */
export function findChunk(names: readonly string[], name: string): string {
  const found = names.filter((each) => each.startsWith(`${name}-`));
  if (found.length === 1) return found[0]!;
  throw new Error(`Cannot tell the chunk of ${name}: ${found.join(" and ") || "there is none"}`);
}
