import { PurserError } from "./errors.ts";
import { nearestName } from "./nearest_name.ts";

/**
 * Refuses an object with names that are not known: a mistyped option would otherwise pass silently. `action` begins the
 * message, such as "open Purser".
 *
 * @throws {PurserError} `invalid`, naming the first one and the known name that is meant
 */
export function checkNames(action: string, given: object | undefined, known: readonly string[]): void {
  if (given === undefined) return;
  if (typeof given !== "object" || given === null) {
    throw new PurserError("invalid", `Cannot ${action}: the options must be an object`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const spelled = plain(unknown);
  const meant = known.find((name) => plain(name) === spelled) ?? nearestName(unknown, known);
  throw new PurserError(
    "invalid",
    `Cannot ${action}: there is no option ${unknown}${
      meant === undefined ? `; there are ${known.join(", ")}` : `; did you mean ${meant}?`
    }`,
    { details: { issues: [{ path: unknown, message: "is not known" }] } },
  );
}

/** Returns a name without its case: `costBudgetUsd` and `cost_budget_usd` are the same. */
function plain(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Returns the names of a record that has each name of a type, so that the compiler finds a missing one. */
export function namesOf<Type>(names: Record<keyof Required<Type> & string, true>): readonly string[] {
  return Object.keys(names);
}
