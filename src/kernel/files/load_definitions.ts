import { messageOf, PurserError } from "../errors.ts";
import { importFile } from "./import_file.ts";

/**
 * Loads the modules of `plugins` that define one kind of plugin. `make` runs a module's default export and calls `onKind` once it has
 * asked for the function that defines the kind; modules that never do define something else, and are left out. One that can't be
 * executed may be of any kind: its fault is returned. Throws `invalid` for a module of the kind that can't be used,
 * and for a name that two of them have, or one and a built-in one.
 */
export async function loadDefinitions<T extends { name: string }>(
  /** Absolute. */
  paths: readonly string[],
  make: (defaultExport: unknown, onKind: () => void) => Promise<T>,
  /** `noun` names the kind in a message; `builtIn` are the names of those that Purser has itself. */
  { noun, builtIn }: { noun: string; builtIn: object },
  load: typeof importFile = importFile,
): Promise<{ found: T[]; faults: string[] }> {
  const found: T[] = [];
  const faults: string[] = [];
  for (const path of paths) {
    const fault = (error: unknown) => `Cannot load the plugin ${path}: ${messageOf(error)}`;
    let defaultExport: unknown;
    try {
      defaultExport = (await load(path)).default;
    } catch (error) {
      faults.push(fault(error));
      continue;
    }
    let isOfKind = false;
    try {
      const made = await make(defaultExport, () => isOfKind = true);
      if (isOfKind) found.push(made);
    } catch (error) {
      // The module of another kind takes other functions from its argument.
      if (isOfKind) throw new PurserError("invalid", fault(error), { cause: error });
    }
  }
  const names = [...Object.keys(builtIn), ...found.map(({ name }) => name)];
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return { found, faults };
  throw new PurserError("invalid", `Cannot use the ${noun} ${twice}: several modules define it`);
}
