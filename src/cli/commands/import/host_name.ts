/** Returns a name of a machine that can be used. Throws for another. */
export function checkMachine(name: string): string {
  // deno-lint-ignore no-control-regex -- a name is shown
  if (name.length >= 1 && name.length <= 100 && !/[\x00-\x1f\x7f-\x9f:]/.test(name)) return name;
  throw new Error("a name has 1 to 100 characters, without colons and control characters");
}

/** Returns the name of this machine in the ledger, unless another one is given. */
export async function hostName(): Promise<string> {
  try {
    const { hostname } = await import("node:os");
    return checkMachine(hostname());
  } catch {
    return "localhost";
  }
}
