import { BUDGET_DEFAULTS } from "../../../contract/limits.ts";
import { BUDGET_ACTIONS, BUDGET_EACH, BUDGET_MODES, BUDGET_PERIODS } from "../../../contract/values.ts";
import { withoutUndefined } from "../../../kernel/without_undefined.ts";
import { flag, option, type OptionSpec } from "../../command.ts";
import { checkId } from "../../parse/command_id.ts";
import { checkExclusive, checkName } from "../../parse/given_fields.ts";
import type { Options } from "../../parse/options.ts";
import { parseAmount } from "../../parse/parse_amount.ts";
import { parseSince } from "../../parse/parse_time.ts";

/** The options of a budget's fields, for `budgets add` and `budgets set`. */
export const BUDGET_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  name: option("NAME", "Name shown in refusals and notifications"),
  limit: option("USD", "Limit in USD"),
  per: option("WINDOW", "Window to count", { oneOf: BUDGET_PERIODS }),
  agent: option("NAME", "Count only this agent", { live: "agent" }),
  session: option("ID", "Count only this session", { live: "session" }),
  key: option("ID", "Count only requests with this API key", { live: "key" }),
  each: option("KIND", "One counter for each agent, session or key", { oneOf: [...BUDGET_EACH, "none"] }),
  mode: option(
    "MODE",
    `stop: no call once the limit is reached; strict: no call that could exceed it (default ${BUDGET_DEFAULTS.mode})`,
    { oneOf: BUDGET_MODES },
  ),
  action: option("ACTION", "watch: refuse nothing, count what would be refused (default refuse)", {
    oneOf: BUDGET_ACTIONS,
  }),
  "warn-at": option("SHARES", "Shares of the limit to notify at, or the word none (default 80%,100%)", {
    some: ["50%,80%,100%", "none"],
  }),
  "counts-from": option("DATE", "Of a lifetime: leave out what was spent before this date (UTC), or none"),
  "allow-unpriced": flag("Allow models without a known price; their calls count as $0"),
  "no-allow-unpriced": flag("Undo --allow-unpriced"),
  enabled: flag("Enable the budget"),
  disabled: flag("Disable the budget"),
};

/** Reads the given fields of a budget. Throws a `UsageError` that names the option. */
export function readBudgetFields(options: Options, now: number) {
  checkExclusive(options, ["allow-unpriced", "no-allow-unpriced"], ["enabled", "disabled"]);
  const either = (one: string, other: string) =>
    options.has(one) ? true : options.has(other) ? false : undefined;
  const each = options.oneOf("each", [...BUDGET_EACH, "none"]);
  return withoutUndefined({
    name: options.read("name", checkName),
    limit_usd: options.read("limit", parseAmount),
    per: options.oneOf("per", BUDGET_PERIODS),
    agent_id: options.read("agent", readIdOrNone),
    session_id: options.read("session", readIdOrNone),
    key_id: options.read("key", readIdOrNone),
    each: each === "none" ? null : each,
    mode: options.oneOf("mode", BUDGET_MODES),
    action: options.oneOf("action", BUDGET_ACTIONS),
    warn_at: options.read("warn-at", readShares),
    counts_from: options.read("counts-from", (text) => readStart(text, now)),
    allow_unpriced: either("allow-unpriced", "no-allow-unpriced"),
    enabled: either("enabled", "disabled"),
  });
}

const readIdOrNone = (text: string) => text === "none" ? null : checkId(text);

/** Parses `80%,100%`, `0.8,1` or `none`. */
function readShares(text: string): number[] {
  if (text === "none") return [];
  return text.split(",").map((part) => {
    const [, number, percent] = /^\s*(\d{1,3}(?:\.\d{1,6})?)(%?)\s*$/.exec(part) ?? [];
    const share = number === undefined
      ? NaN
      : percent
      ? Number((Number(number) / 100).toFixed(8))
      : Number(number);
    if (share > 0 && share <= 1) return share;
    throw new Error(`${part || "an empty value"} is not a share; write 80%,100% or 0.8,1`);
  });
}

function readStart(text: string, now: number): string | null {
  if (text === "none") return null;
  const time = text === "all" ? undefined : parseSince(text, now);
  if (time === undefined || !time.endsWith("T00:00:00.000Z")) {
    throw new Error(`${text} is not a midnight in UTC; write a date, such as 2026-11-01, or none`);
  }
  return time;
}
