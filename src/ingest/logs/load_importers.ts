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
  const isBuiltIn = (name: string) => Object.hasOwn(IMPORTERS, name);
  const kind = { noun: "importer", builtIn: IMPORTERS };
  const { found, faults } = names?.every(isBuiltIn)
    ? { found: [], faults: [] }
    : await loadDefinitions(plugins, makeImporter, kind, load);
  const known = [...Object.keys(IMPORTERS), ...found.map(({ name }) => name)];
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const state = `there is no importer ${unknown}${hintOf(unknown, known)}`;
    throw new PurserError("invalid", [state, ...faults].join("; "));
  }
  const builtIn = wanted.filter(isBuiltIn).map(async (name) => (await IMPORTERS[name]!()).default);
  const chosen = found.filter(({ name }) => names === undefined || names.includes(name));
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
