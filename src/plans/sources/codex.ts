import type { HeaderFields } from "../../kernel/header_fields.ts";
import {
  CREDITS,
  fieldsOf,
  isWindowName,
  nameOfLength,
  percentOf,
  type PlanWindow,
  timeOfSeconds,
  wordOf,
} from "./plan_window.ts";

/** The two windows of a limit. A plan without the short one has the week as its first. */
const SLOTS = ["primary", "secondary"] as const;

/** The limit of the plan itself; others are those of single models. */
const PLAN = "codex";

/**
 * Reads the `rate_limits` of a `token_count` event in a rollout of Codex, which was written at `at`. Of older versions a window
 * has `resets_in_seconds`. As of 2026-11-26, Codex 0.171.0, https://github.com/openai/codex, codex-rs/protocol/src/protocol.rs, `RateLimitSnapshot`.
 */
export function readCodexWindows(rateLimits: unknown, at: number): PlanWindow[] {
  const fields = fieldsOf(rateLimits);
  const reached = wordOf(fields.rate_limit_reached_type);
  const limit = wordOf(fields.limit_id) ?? PLAN;
  const common = { measuredAt: at, plan: wordOf(fields.plan_type) };
  const windows = SLOTS.flatMap((slot): PlanWindow[] => {
    const { used_percent, window_minutes, resets_at, resets_in_seconds } = fieldsOf(fields[slot]);
    const wait = typeof resets_in_seconds === "number" ? at / 1000 + resets_in_seconds : undefined;
    return windowOf(limit, slot, {
      ...common,
      usedPercent: percentOf(used_percent),
      minutes: window_minutes,
      resetsAt: timeOfSeconds(resets_at) ?? timeOfSeconds(wait),
      models: limit === PLAN ? undefined : wordOf(fields.limit_name) ?? limit,
      status: reached === slot ? "rejected" : undefined,
    });
  });
  const { has_credits, unlimited, balance } = fieldsOf(fields.credits);
  const isOfCredits = reached !== undefined && !(SLOTS as readonly string[]).includes(reached);
  if (typeof has_credits !== "boolean" && !isOfCredits) return windows;
  const credits = {
    hasCredits: flagOf(has_credits),
    isUnlimited: flagOf(unlimited),
    balance: wordOf(balance),
  };
  return [...windows, { window: CREDITS, ...common, status: isOfCredits ? reached : undefined, credits }];
}

const flagOf = (value: unknown) => typeof value === "boolean" ? value : undefined;

function windowOf(
  limit: string,
  slot: string,
  { minutes, ...window }: Omit<PlanWindow, "window"> & { minutes: unknown },
): PlanWindow[] {
  const isLength = typeof minutes === "number" && minutes >= 1 && minutes < 1_000_000;
  const name = isLength ? nameOfLength(minutes) : slot;
  const whole = limit === PLAN ? name : `${limit}:${name}`;
  if (window.usedPercent === undefined || !isWindowName(whole)) return [];
  return [{ window: whole, ...window, lengthMs: isLength ? minutes * 60_000 : undefined }];
}

/** The beginning of a header of OpenAI's answers with the windows of a plan. */
export const CODEX_HEADERS = "x-codex-";

const USED = /^x-(codex(?:-[a-z0-9]+)*)-(primary|secondary)-used-percent$/;

/**
 * Reads the `x-codex-…` headers of an answer, which came at `at`: `-primary-used-percent`, `-window-minutes`, `-reset-at`, the
 * same of `secondary` and of further limits, `-limit-name`, `-plan-type`, `-credits-has-credits`, `-credits-unlimited` and
 * `-credits-balance`. As of 2026-10, https://github.com/openai/codex, codex-rs/codex-api/src/rate_limits.rs.
 */
export function readCodexHeaders(headers: Pick<HeaderFields, "get" | "forEach">, at: number): PlanWindow[] {
  const numberIn = (name: string) => {
    const text = headers.get(name);
    return text === null || text.trim() === "" ? undefined : Number(text);
  };
  const flagIn = (name: string) => {
    const text = headers.get(name)?.toLowerCase();
    return text === "true" ? true : text === "false" ? false : undefined;
  };
  const common = { measuredAt: at, plan: wordOf(headers.get("x-codex-plan-type")) };
  const reached = wordOf(headers.get("x-codex-rate-limit-reached-type"));
  const windows: PlanWindow[] = [];
  headers.forEach((_, name) => {
    const [, id, slot] = USED.exec(name) ?? [];
    if (id === undefined || slot === undefined) return;
    const limit = id.replaceAll("-", "_");
    windows.push(...windowOf(limit, slot, {
      ...common,
      usedPercent: percentOf(numberIn(name)),
      minutes: numberIn(`x-${id}-${slot}-window-minutes`),
      resetsAt: timeOfSeconds(numberIn(`x-${id}-${slot}-reset-at`)),
      models: limit === PLAN ? undefined : wordOf(headers.get(`x-${id}-limit-name`)) ?? limit,
      status: limit === PLAN && reached === slot ? "rejected" : undefined,
    }));
  });
  const hasCredits = flagIn("x-codex-credits-has-credits");
  if (hasCredits === undefined) return windows;
  const credits = {
    hasCredits,
    isUnlimited: flagIn("x-codex-credits-unlimited"),
    balance: wordOf(headers.get("x-codex-credits-balance")),
  };
  return [...windows, { window: CREDITS, ...common, credits }];
}
