import { parseUsd, toUsd } from "../../kernel/money.ts";
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

/** Returns which of a pair of flags is given, undefined for neither. Throws a `UsageError` for both. */
export function readEither(options: Options, on: string, off: string): boolean | undefined {
  checkExclusive(options, [on, off]);
  return options.has(on) ? true : options.has(off) ? false : undefined;
}

/** Returns a name. Throws an error for a blank one. */
export function checkName(text: string): string {
  if (text.trim() === "") throw new Error("the name is blank");
  return text;
}

/** Returns the reader of an option whose value may be the word none, which removes what is set. */
export function orNone<Value>(read: (text: string) => Value): (text: string) => Value | null {
  return (text) => text === "none" ? null : read(text);
}

/** Parses an amount of USD, with or without its sign. Throws an error that says why. */
export function parseAmount(text: string): number {
  const amount = parseUsd(text.replace(/^\$/, ""));
  if (amount < 0n) throw new Error(`${text} is negative`);
  return toUsd(amount);
}
