import { PurserError } from "../../kernel/errors.ts";
import type { importFile } from "../../kernel/files/import_file.ts";
import { loadDefinitions } from "../../kernel/files/load_definitions.ts";
import { hintOf } from "../../kernel/nearest_name.ts";
import { usageOf } from "../../pricing/mod.ts";
import { defineImporter, IMPORTER_CONTRACT, type ImporterKit, type LogImporter } from "./importer.ts";
import { IMPORTERS } from "./registry.ts";

/**
 * Loads importers by their names, built-in ones and those of the modules in `plugins`; all without names. Modules that define
 * something else, such as a channel, are left out. Throws `invalid` for an unknown name, for a name that two importers have, and
 * for an importer that this version can't use.
 */
export async function loadImporters(
  { names, plugins, load }: {
    names?: readonly string[];
    /** Absolute paths. */
    plugins: readonly string[];
    load?: typeof importFile;
  },
): Promise<LogImporter[]> {
  const wanted = names ?? Object.keys(IMPORTERS);
  const isPlugin = (name: string) => !Object.hasOwn(IMPORTERS, name);
  const { found: importers, faults } = names && !names.some(isPlugin)
    ? { found: [], faults: [] }
    : await loadDefinitions(plugins, makeImporter, load);
  const own = new Map<string, LogImporter>();
  for (const importer of importers) {
    const { name } = importer;
    if (own.has(name) || !isPlugin(name)) {
      throw refuse(`Cannot use the importer ${name}: several modules define it`);
    }
    own.set(name, importer);
  }
  const unknown = wanted.find((name) => isPlugin(name) && !own.has(name));
  if (unknown !== undefined) {
    const known = [...Object.keys(IMPORTERS), ...own.keys()];
    throw refuse([`there is no importer ${unknown}${hintOf(unknown, known)}`, ...faults].join("; "));
  }
  const builtIn = wanted.filter((name) => !isPlugin(name)).map(async (name) =>
    (await IMPORTERS[name]!()).default
  );
  const chosen = [...own.values()].filter(({ name }) => names === undefined || names.includes(name));
  return [...await Promise.all(builtIn), ...chosen];
}

/** Runs a module's default export, and validates the importer that it returns. */
export async function makeImporter(make: unknown, onImporter: () => void = () => {}): Promise<LogImporter> {
  if (typeof make !== "function") throw new Error("its default export is not a function");
  const kit: ImporterKit = {
    get defineImporter() {
      onImporter();
      return defineImporter;
    },
    usageOf,
  };
  const importer: unknown = await make(kit);
  const fault = findImporterFault(importer);
  if (fault !== undefined) throw new Error(fault);
  return importer as LogImporter;
}

/** Returns the reason why this version can't use a value as an importer, or undefined. */
function findImporterFault(made: unknown): string | undefined {
  if (typeof made !== "object" || made === null) return "its default export returned no importer";
  const importer = made as Partial<Record<keyof LogImporter, unknown>>;
  if (importer.contract !== IMPORTER_CONTRACT) {
    return `it was written for version ${
      String(importer.contract)
    } of the contract of importers, and this Purser ` +
      `supports version ${IMPORTER_CONTRACT}`;
  }
  if (typeof importer.name !== "string" || !/^[a-z][a-z0-9-]{0,31}$/.test(importer.name)) {
    return "its name must consist of lowercase letters, digits and -, at most 32";
  }
  for (const key of ["title", "seen"] as const) {
    if (typeof importer[key] !== "string" || importer[key].trim() === "") return `it has no ${key}`;
  }
  const { holes, kinds } = importer;
  if (!Array.isArray(holes) || holes.some((hole) => typeof hole !== "string")) {
    return "its holes are not a list of texts";
  }
  if (typeof importer.roots !== "function") return "it has no roots function";
  if (!Array.isArray(kinds) || kinds.length === 0) return "it has no kinds of files";
  const isSound = kinds.every((kind) =>
    typeof kind?.has === "function" &&
    typeof kind.read?.[kind.read.form === "lines" ? "open" : "read"] === "function"
  );
  return isSound ? undefined : "one of its kinds has no function that reads it";
}

function refuse(message: string): PurserError {
  return new PurserError("invalid", message);
}
