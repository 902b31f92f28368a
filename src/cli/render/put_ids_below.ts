/** A table whose ids leave no room for what else is in it: each goes whole to a line of its own below its row. */
export function putIdsBelow(table: string, idLines: readonly string[]): string {
  const [header, ...rows] = table.split("\n");
  return [header, ...rows.flatMap((row, index) => [row, `  ${idLines[index]}`])].join("\n");
}
