/** What keeps a tool from being offered to a model, or undefined: name, shape, or a name that is taken. */
export function findToolFault(
  name: string,
  tool: unknown,
  taken: { has(name: string): boolean },
): string | undefined {
  // The narrowest of the providers' rules.
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) return "a name takes letters, digits, _ and -, at most 64";
  if (taken.has(name)) return "there already is a tool of that name";
  if (typeof tool !== "object" || tool === null) return "it is not a tool; write tool({…})";
  if (!("inputSchema" in tool) || !tool.inputSchema) return "it has no inputSchema";
  if (!("execute" in tool) || typeof tool.execute !== "function") return "it has no execute function";
  return undefined;
}
