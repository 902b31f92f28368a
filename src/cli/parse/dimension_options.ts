import {
  BUDGETED,
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

const OFFERED = FILTERED.filter((name): name is DimensionWith<"option"> => "option" in DIMENSIONS[name]);

/** The checks of values before they are sent. */
const CHECKS: { readonly [Name in DimensionWith<"isFilter">]?: (text: string) => string } = {
  session: checkId,
  key: checkName,
};

/** The options that select calls. */
export const FILTER_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(OFFERED.map((name) => {
  const { value, calls } = DIMENSIONS[name].option;
  return [name, option(value, `Only calls ${calls}`, { live: name })];
}));

/** The parameters of requests that select calls. */
export type Filters = { [Name in DimensionWith<"option"> as FieldOf<Name>]: string | undefined };

/** Reads the options that select calls. Throws a `UsageError` that names the option. */
export function readFilters(options: Options): Filters {
  return Object.fromEntries(OFFERED.map((name) => {
    const check = CHECKS[name];
    return [DIMENSIONS[name].field, check ? options.read(name, check) : options.text(name)];
  })) as Filters;
}

/** The options that say which calls a budget counts. */
export const NAMED_OPTIONS: Readonly<Record<string, OptionSpec>> = Object.fromEntries(BUDGETED.map((name) => {
  const { value, only } = DIMENSIONS[name].budget;
  return [name, option(value, `Count only ${only}`, { live: name })];
}));

/** The fields of a budget that say which calls it counts; null for none. */
type Named = { [Name in DimensionWith<"budget"> as FieldOf<Name>]: string | null | undefined };

/** Reads the options that say which calls a budget counts, where the word none removes one. */
export function readNamed(options: Options): Named {
  return Object.fromEntries(BUDGETED.map((name) => {
    return [DIMENSIONS[name].field, options.read(name, orNone(CHECKS[name] ?? checkId))];
  })) as Named;
}
