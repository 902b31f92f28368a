import assert from "node:assert/strict";
import { describeRule, describeWatch, formatCooldown } from "./describe_rule.ts";
import { formatSpent } from "./format_spent.ts";

const RULE = {
  threshold_type: "per_day_usd",
  threshold_usd: 10,
  severity: "warning",
  repeat: "cooldown",
  cooldown_seconds: 3_600,
  agent_id: null,
  each: null,
  time_zone: "UTC",
  month_start_day: 1,
  enabled: true,
} as const;

Deno.test("formatSpent() rounds to the nearest, and never so that a threshold looks reached before it is", () => {
  const cases: [number | null, number, string][] = [
    [3.2, 10, "$3.20 of $10"],
    [null, 10, "- of $10"],
    [0, 10, "$0 of $10"],
    [9.999999999, 10, "$9.999999999 of $10"],
    [9.994, 10, "$9.994 of $10"],
    [9.99996, 10, "$9.99996 of $10"],
    [16.08371234, 16, "$16.0837 of $16"],
    [10, 10, "$10.00 of $10"],
    [10.259, 10, "$10.259 of $10"],
    // As purser cost shows them.
    [0.0001506, 10, "$0.0001506 of $10"],
    [0.0001074, 0.000018, "$0.0001074 of $0.000018"],
    [0.000000001, 10, "$0.000000001 of $10"],
    [0.009999999, 0.01, "$0.009999999 of $0.01"],
    [0.4999999, 0.5, "$0.4999999 of $0.50"],
    [0.123456788, 0.123456789, "$0.123456788 of $0.123456789"],
    [1_234_567.891, 1_000_000, "$1,234,567.89 of $1,000,000"],
    [1e12, 1e9, "$1,000,000,000,000.00 of $1,000,000,000"],
  ];
  for (const [value, threshold, text] of cases) assert.equal(formatSpent(value, threshold), text);
});

Deno.test("formatCooldown() is exact", () => {
  const cooldowns = [0, 1, 90, 3_600, 5_400, 86_400, 31_536_000].map((cooldown_seconds) =>
    formatCooldown({ ...RULE, cooldown_seconds })
  );
  assert.deepEqual(cooldowns, ["none", "1s", "1m 30s", "1h", "1h 30m", "1d", "365d"]);
  assert.equal(formatCooldown({ ...RULE, repeat: "once_per_window" }), "1h, once per day");
});

Deno.test("describeRule() is a sentence for every kind of rule", () => {
  assert.equal(describeRule(RULE), "warning at $10 in a day of all agents, again after 1h");
  assert.equal(
    describeRule({ ...RULE, cooldown_seconds: 0 }),
    "warning at $10 in a day of all agents, at every call",
  );
  assert.equal(
    describeRule({ ...RULE, threshold_type: "per_hour_usd", agent_id: "a", repeat: "once_per_window" }),
    "warning at $10 in an hour of a, once per hour, at most every 1h",
  );
  assert.equal(
    describeRule({
      ...RULE,
      threshold_type: "per_run_usd",
      repeat: "once_per_window",
      cooldown_seconds: 0,
      enabled: false,
    }),
    "warning at $10 in a run of all agents, once per run; it is disabled",
  );
  assert.equal(
    describeWatch({ threshold_type: "per_session_usd", agent_id: "a", each: null }),
    "session of a",
  );
});
