import { messageOf, PurserError } from "../kernel/errors.ts";

/** The precedence of the sources of a setting. */
export const RANK = { option: 4, environment: 3, profile: 2, file: 1, none: 0 } as const;
export type Rank = typeof RANK[keyof typeof RANK];

/** A setting with its source, for precedence and for messages. */
export interface Setting {
  value: string | undefined;
  rank: Rank;
  source: string;
}

/** Picks the value of highest precedence; an empty environment variable counts as unset. */
export function pickSetting(
  option: string,
  fromOption: string | undefined,
  fromEnvironment: string | undefined,
  variable: string,
  fromFile: string | undefined,
): Setting {
  if (fromOption !== undefined) {
    return { value: fromOption, rank: RANK.option, source: option.replace(/^(?!--)/, "--") };
  }
  if (fromEnvironment) return { value: fromEnvironment, rank: RANK.environment, source: variable };
  if (fromFile !== undefined) {
    return { value: fromFile, rank: RANK.file, source: `${option} of the config file` };
  }
  return { value: undefined, rank: RANK.none, source: "default" };
}

/** Returns the setting as one of the allowed values. Throws `invalid` on any other. */
export function oneOf<const T extends string>(setting: Setting, allowed: readonly T[]): T | undefined {
  if (setting.value === undefined) return undefined;
  const found = allowed.find((value) => value === setting.value);
  if (found !== undefined) return found;
  throw new PurserError("invalid", `Cannot use ${setting.source}: it must be one of ${allowed.join(", ")}`);
}

/** Returns the setting as a text that is read. Throws `invalid` with the reason for which it can't be. */
export function readText({ value, source }: Setting, read = (text: string) => text): string | undefined {
  if (value === undefined) return undefined;
  try {
    return read(value);
  } catch (error) {
    throw new PurserError("invalid", `Cannot use ${source}: ${messageOf(error)}`);
  }
}

/** Returns the setting as a whole number. Throws `invalid` if it is none, or not from `min` to `max`. */
export function wholeNumber({ value: text, source }: Setting, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new PurserError(
    "invalid",
    `Cannot use ${source}: it must be a whole number from ${min} to ${max}`,
  );
}
