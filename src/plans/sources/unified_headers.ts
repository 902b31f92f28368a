import type { HeaderFields } from "../../kernel/header_fields.ts";
import {
  CREDITS,
  isWindowName,
  lengthOf,
  MAX_WINDOWS,
  percentOf,
  type PlanWindow,
  timeOfSeconds,
  wordOf,
} from "./plan_window.ts";

/** The beginning of the headers of Anthropic's answers to calls that a plan pays for. */
export const UNIFIED_HEADERS = "anthropic-ratelimit-unified-";

const PART = /^anthropic-ratelimit-unified-(\d+[hd](?:_\w+)?|overage)-(utilization|reset|status)$/;

/**
 * Reads the `anthropic-ratelimit-unified-…` headers of an answer, which came at `at`. Of each window, such as `5h`, `7d` and
 * `7d_opus`: `-utilization`, a part of 1 that may be more; `-reset`, in seconds; `-status`, which is `allowed`, `allowed_warning` or `rejected`.
 * The same of `overage`, the paid credits, with `-overage-disabled-reason` and `-overage-in-use`. `-status` and `-reset` without
 * a window are those of the window that `-representative-claim` names. While credits pay, the plan's status is `rejected`.
 * As of 2026-10, from answers to Claude Code 2.1 that others have recorded: Anthropic doesn't document them.
 */
export function readUnifiedHeaders(headers: Pick<HeaderFields, "get" | "forEach">, at: number): PlanWindow[] {
  const windows = new Map<string, PlanWindow>();
  const windowNamed = (window: string) => {
    let found = windows.get(window);
    if (!found) windows.set(window, found = { window, measuredAt: at, lengthMs: lengthOf(window) });
    return found;
  };
  headers.forEach((value, name) => {
    const [, part, what] = PART.exec(name) ?? [];
    if (part === undefined || windows.size === MAX_WINDOWS) return;
    const window = windowNamed(nameOf(part));
    if (what === "status") window.status = wordOf(value);
    else if (what === "reset") window.resetsAt = timeOfSeconds(numberOf(value));
    else window.usedPercent = percentOf(Math.round(numberOf(value) * 10_000) / 100);
  });
  const own = (name: string) => headers.get(UNIFIED_HEADERS + name);
  const status = wordOf(own("status"));
  const isInUse = own("overage-in-use") === "true" ? true : undefined;
  const reason = wordOf(own("overage-disabled-reason"));
  if (windows.has(CREDITS) || isInUse || reason !== undefined) {
    windowNamed(CREDITS).credits = { isInUse, reason };
  }
  const claim = own("representative-claim") ?? "";
  if (status !== undefined && (status !== "allowed" || isInUse)) {
    const window = windowNamed(isWindowName(claim) && claim !== "overage" ? claim : "unified");
    if (window.status !== "rejected") window.status = isInUse ? "overage" : status;
    window.resetsAt ??= timeOfSeconds(numberOf(own("reset") ?? ""));
  }
  return [...windows.values()].filter(({ usedPercent, status, credits }) =>
    usedPercent !== undefined || status !== undefined || credits !== undefined
  );
}

const numberOf = (text: string) => text.trim() === "" ? NaN : Number(text);

const nameOf = (part: string) =>
  part === "overage" ? CREDITS : part.replace(/^5h/, "five_hour").replace(/^7d/, "seven_day");
