import type { Options } from "./options.ts";
import { UsageError } from "./usage_error.ts";

/** Throws a `UsageError` if both options of a pair are given. */
export function checkExclusive(options: Options, ...pairs: readonly (readonly [string, string])[]): void {
  for (const [one, other] of pairs) {
    if (options.has(one) && options.has(other)) {
      throw new UsageError(`Cannot use --${one} together with --${other}: give one of them`, options.command);
    }
  }
}

/** Returns a name. Throws an error for a blank one. */
export function checkName(text: string): string {
  if (text.trim() === "") throw new Error("the name is blank");
  return text;
}
