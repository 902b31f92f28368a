/**
 * Reads options that are given once each, without looking at the table of commands; `known` has true for one with a value. Returns
 * undefined for any other command line, which is left to the whole command line.
 */
export function readPlainOptions(
  args: readonly string[],
  known: Readonly<Record<string, boolean>>,
): Map<string, readonly string[]> | undefined {
  const given = new Map<string, readonly string[]>();
  for (let index = 0; index < args.length; index++) {
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[index]!) ?? [];
    if (!Object.hasOwn(known, name) || given.has(name)) return undefined;
    if (!known[name]) {
      if (inline !== undefined) return undefined;
      given.set(name, []);
      continue;
    }
    const value = inline ?? args[++index];
    if (value === undefined || (inline === undefined && value.startsWith("-"))) return undefined;
    given.set(name, [value]);
  }
  return given;
}
