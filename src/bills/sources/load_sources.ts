import { PurserError } from "../../kernel/errors.ts";
import type { importFile } from "../../kernel/files/import_file.ts";
import { loadDefinitions } from "../../kernel/files/load_definitions.ts";
import { hintOf } from "../../kernel/nearest_name.ts";
import { Answer, minus, textOf, timeOf, windowsOf } from "./answer.ts";
import { BILL_CONTRACT, type BillSource, defineBillSource, fetchAll } from "./bill_source.ts";
import { BILL_SOURCES } from "./registry.ts";
import { readTable } from "./tables.ts";

/** The argument of a source's module, which needs no import but of types. */
export interface BillSourceKit {
  defineBillSource: typeof defineBillSource;
  fetchAll: typeof fetchAll;
  readTable: typeof readTable;
  Answer: typeof Answer;
  textOf: typeof textOf;
  timeOf: typeof timeOf;
  minus: typeof minus;
  windowsOf: typeof windowsOf;
}

/** The default export of the module of a source. */
export type BillSourceModule = (kit: BillSourceKit) => BillSource | Promise<BillSource>;

/** Loads all sources, the built-in ones and those of the modules in `plugins`, by name. */
export async function loadAllSources(
  plugins: readonly string[],
  load?: typeof importFile,
): Promise<BillSource[]> {
  const builtIn = await Promise.all(Object.values(BILL_SOURCES).map(async (load) => (await load()).default));
  const { found } = await loadDefinitions(plugins, makeSource, KIND, load);
  return [...builtIn, ...found].sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Loads a source by its name. Throws `invalid` for an unknown one, and for one that this version can't use. */
export async function loadSource(
  name: string,
  plugins: readonly string[],
  load?: typeof importFile,
): Promise<BillSource> {
  if (Object.hasOwn(BILL_SOURCES, name)) return (await BILL_SOURCES[name]!()).default;
  const { found, faults } = await loadDefinitions(plugins, makeSource, KIND, load);
  const source = found.find((each) => each.name === name);
  if (source) return source;
  const known = [...Object.keys(BILL_SOURCES), ...found.map(({ name }) => name)];
  throw new PurserError(
    "invalid",
    [`Cannot import a bill: there is no source ${name}${hintOf(name, known)}`, ...faults].join("; "),
  );
}

const KIND = { noun: "source of bills", builtIn: BILL_SOURCES };

/** Runs a module's default export, and checks the source that it returns. */
async function makeSource(make: unknown, onSource: () => void): Promise<BillSource> {
  if (typeof make !== "function") throw new Error("its default export is not a function");
  const kit: BillSourceKit = {
    get defineBillSource() {
      onSource();
      return defineBillSource;
    },
    ...{ fetchAll, readTable, Answer, textOf, timeOf, minus, windowsOf },
  };
  const made: unknown = await make(kit);
  const fault = findFault(made);
  if (fault !== undefined) throw new Error(fault);
  return made as BillSource;
}

function findFault(made: unknown): string | undefined {
  if (typeof made !== "object" || made === null) return "its default export returned no source of bills";
  const { contract, name, title, seen, holes, series, fetch, readFile } = made as Partial<BillSource>;
  if (contract !== BILL_CONTRACT) {
    return `it was written for version ${contract} of the contract of bills, and this Purser supports version ${BILL_CONTRACT}`;
  }
  if (typeof name !== "string" || !/^[a-z][a-z0-9-]{0,31}$/.test(name)) {
    return "its name must consist of lowercase letters, digits and -, at most 32";
  }
  if (!title || !seen || !Array.isArray(holes) || !Array.isArray(series)) {
    return "its title, seen, holes or series are missing";
  }
  const canRead = typeof fetch?.fetchPages === "function" || typeof readFile === "function";
  return canRead ? undefined : "it has neither fetchPages nor readFile";
}
