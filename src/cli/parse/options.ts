import { nearestName } from "../../kernel/nearest_name.ts";
import { messageOf } from "../../kernel/errors.ts";
import { UsageError } from "./usage_error.ts";

/** The options of a command line by name. */
export class Options {
  readonly #given: ReadonlyMap<string, readonly string[]>;

  /** `given` has the values of each option, in order; an empty one for a flag. */
  constructor(given: ReadonlyMap<string, readonly string[]>, readonly command: string) {
    this.#given = given;
  }

  has(name: string): boolean {
    return this.#given.has(name);
  }

  /** Returns the last value. */
  text(name: string): string | undefined {
    return this.#given.get(name)?.at(-1);
  }

  /** Returns all values. */
  texts(name: string): readonly string[] {
    return this.#given.get(name) ?? [];
  }

  /** Throws a `UsageError` that names the option. */
  wholeNumber(name: string, { min, max }: { min: number; max: number }): number | undefined {
    return this.read(name, (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
      if (value >= min && value <= max) return value;
      throw new Error(`${text} is not a whole number from ${min} to ${max}`);
    });
  }

  /** Throws a `UsageError` that names the option. */
  oneOf<const T extends string>(name: string, allowed: readonly T[]): T | undefined {
    return this.read(name, (text) => {
      const found = allowed.find((value) => value === text);
      if (found !== undefined) return found;
      const near = nearestName(text, allowed);
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      throw new Error(`${text || "an empty value"} is not one of ${allowed.join(", ")}${hint}`);
    });
  }

  /** Parses an option's value; an error becomes a `UsageError` that names the option. */
  read<T>(name: string, parse: (text: string) => T): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    try {
      return parse(text);
    } catch (error) {
      throw new UsageError(`Cannot use --${name}: ${messageOf(error)}`, this.command, error);
    }
  }
}
