import {
  BUDGETED,
  type Dimension,
  DIMENSIONS,
  type DimensionWith,
  type FieldOf,
  FILTERED,
} from "../../contract/costs/dimensions.ts";
import { option, type OptionSpec } from "../command.ts";
import { checkId } from "./command_id.ts";
import { checkName, orNone } from "./given_fields.ts";
import type { Options } from "./options.ts";

/* The options that name values of the dimensions of spending: of reports, which select calls, and of budgets. */

const OFFERED = FILTERED.filter((name): name is DimensionWith<"isOption"> => "isOption" in DIMENSIONS[name]);

/** The checks of values before they are sent. */
const CHECKS: { readonly [Name in DimensionWith<"isFilter">]?: (text: string) => string } = {
  session: checkId,
  key: checkName,
};

/** The words of an option: for its value in a report and in a budget, the calls that it selects, and what it counts. */
interface Words {
  value: string;
  named: string;
  calls: string;
  only: string;
}

/** The words of options that differ from `--project PROJECT  Only calls of a project`. */
const WORDS: { readonly [Name in Dimension]?: Partial<Words> } = {
  agent: { named: "NAME", calls: "of an agent" },
  session: { value: "ID", named: "ID" },
  model: { calls: "of a model, such as gpt-6-luna or openai:gpt-6-luna" },
  key: {
    calls: "with an API key, by its name or id",
    only: "requests with this API key, by its name or id",
  },
};

function wordsOf(name: Dimension): Words {
  const value = name.toUpperCase();
  return { value, named: value, calls: `of a ${name}`, only: `this ${name}`, ...WORDS[name] };
}

/** The options that select calls. */
export const FILTER_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(OFFERED.map((name) => {
  const { value, calls } = wordsOf(name);
  return [name, option(value, `Only calls ${calls}`, { live: name })];
}));

/** The parameters of requests that select calls. */
export type Filters = { [Name in DimensionWith<"isOption"> as FieldOf<Name>]: string | undefined };

/** Reads the options that select calls. Throws a `UsageError` that names the option. */
export function readFilters(options: Options): Filters {
  return Object.fromEntries(OFFERED.map((name) => {
    const check = CHECKS[name];
    return [DIMENSIONS[name].field, check ? options.read(name, check) : options.text(name)];
  })) as Filters;
}

/** The options that say which calls a budget counts. */
export const NAMED_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(BUDGETED.map((name) => {
  const { named, only } = wordsOf(name);
  return [name, option(named, `Count only ${only}`, { live: name })];
}));

/** The fields of a budget that say which calls it counts; null for none. */
type Named = { [Name in DimensionWith<"isBudgeted"> as FieldOf<Name>]: string | null | undefined };

/** Reads the options that say which calls a budget counts, where the word none removes one. */
export function readNamed(options: Options): Named {
  return Object.fromEntries(BUDGETED.map((name) => {
    return [DIMENSIONS[name].field, options.read(name, orNone(CHECKS[name] ?? checkId))];
  })) as Named;
}
