import { type CommandSpec, text } from "./command_spec.ts";

/** What was spent */
export const spending: readonly CommandSpec[] = [
  {
    name: "cost",
    args: [],
    summary: "Review recent spending across all agents",
    detail:
      "Days are UTC days. WHEN is a span back from now (30m, 24h, 7d, 2w), a date, an ISO time, or all; the " +
      "default is the last 30 days, and with --by hour the last 24 hours.",
    options: {
      by: text("WHAT", "One table", { oneOf: ["agent", "session", "run", "model", "hour", "day"] }),
      since: text("WHEN", "Only calls since then", { some: ["24h", "7d", "30d", "all"] }),
      limit: text("N", "How many rows at most, 1 to 1000 (default 100)"),
    },
    examples: [
      ["purser cost", "Today, this week, this month; by agent and by model"],
      ["purser cost --by model --since 24h", "Models of the last 24 hours"],
      ["purser cost --by day --since 2026-11-01 --json", "For another program"],
    ],
    isReadOnly: true,
    load: async () => (await import("../commands/spending/cost.ts")).cost,
  },
];
