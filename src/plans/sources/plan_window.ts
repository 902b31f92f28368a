import { isRecord } from "../../kernel/records.ts";

/** One window of a plan as its provider has measured it. What a source leaves out is undefined, never 0. */
export interface PlanWindow {
  /**
   * The name that the source gives it: `five_hour`, `seven_day`, `seven_day_opus`, …, and `credits` for what is paid beyond the
   * plan.
   */
  window: string;
  /** In percent; more than 100 where paid credits have gone on. */
  usedPercent?: number | undefined;
  /** In milliseconds since the epoch. */
  resetsAt?: number | undefined;
  lengthMs?: number | undefined;
  /** The word of the source, such as `allowed_warning` or `rejected`; `overage` while paid credits pay for the calls. */
  status?: string | undefined;
  /** The time of the measurement, in milliseconds since the epoch; without it, it was measured at some time before now. */
  measuredAt?: number | undefined;
  /** The name of the plan: `pro`. */
  plan?: string | undefined;
  /** The models that the window is about, where the source names them. */
  models?: string | undefined;
  /** Only of `credits`. */
  credits?: PlanCredits | undefined;
}

/** The paid credits beyond a plan. */
export interface PlanCredits {
  isInUse?: boolean | undefined;
  isUnlimited?: boolean | undefined;
  hasCredits?: boolean | undefined;
  /** As the source writes it: its unit is the source's. */
  balance?: string | undefined;
  /** The reason for which there are none. */
  reason?: string | undefined;
}

/** The name of the window of what is paid beyond a plan. */
export const CREDITS = "credits";

const LENGTHS: readonly (readonly [beginning: string, minutes: number])[] = [
  ["five_hour", 300],
  ["seven_day", 10_080],
];

/** Returns the length of a window by its name; undefined for an unknown one. */
export function lengthOf(window: string): number | undefined {
  const minutes = LENGTHS.find(([beginning]) => window.startsWith(beginning))?.[1];
  return minutes === undefined ? undefined : minutes * 60_000;
}

/** Returns the name of a window by its length: `five_hour`, `seven_day`, or `30_minutes`. */
export function nameOfLength(minutes: number): string {
  return LENGTHS.find(([, length]) => length === minutes)?.[0] ?? `${minutes}_minutes`;
}

/** Returns a percentage; undefined for what is none. */
export function percentOf(value: unknown): number | undefined {
  const isPercent = typeof value === "number" && value >= 0 && value <= 100_000;
  return isPercent ? Math.round(value * 100) / 100 + 0 : undefined;
}

const [MIN_SECONDS, MAX_SECONDS] = [1_500_000_000, 100_000_000_000];

/** Returns a time in milliseconds for one in seconds since the epoch; undefined for what is none. */
export function timeOfSeconds(value: unknown): number | undefined {
  const isTime = typeof value === "number" && value >= MIN_SECONDS && value < MAX_SECONDS;
  return isTime ? Math.round(value * 1000) : undefined;
}

/** Returns a short text of a source; undefined for an empty one and any other value. */
export function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[^\p{Cc}\p{Cs}\p{Bidi_C}]{1,100}$/u.test(value) ? value : undefined;
}

/** Returns whether a text can be the name of a window. */
export const isWindowName = (name: string) => /^[\w.:-]{1,64}$/.test(name);

export const fieldsOf = (value: unknown): Record<string, unknown> => isRecord(value) ? value : {};

/** The most windows that one measurement may have. */
export const MAX_WINDOWS = 32;
