/** Reads a file as text. What reads files is loaded late: an edge runtime has none, and many a command needs none. */
export async function readTextFile(path: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  return await readFile(path, "utf8");
}
