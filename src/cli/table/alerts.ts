import { arg, type CommandSpec, flag, text } from "./command_spec.ts";

/** `purser alerts …` */
export const alerts: readonly CommandSpec[] = [
  {
    name: "alerts list",
    args: [],
    summary: "List the alert rules and what is spent of each",
    detail:
      "SPENT is what the present hour, day or month holds; of a rule per run or session, what the newest one has " +
      "cost.",
    options: {},
    examples: [["purser alerts list", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/alerts/alerts_list.ts")).alertsList,
  },
  {
    name: "alerts add",
    args: [],
    summary: "Add an alert rule",
    detail:
      "When spending reaches the threshold, every channel is told; see purser channels list. A line that stays " +
      "crossed is told again after each cooldown, unless --repeat says otherwise. The hour is the last 60 minutes; " +
      "days and months are those of UTC.",
    options: {
      name: text("NAME", "What notifications call it"),
      "threshold-usd": text("USD", "The amount that is too much"),
      "threshold-type": text(
        "TYPE",
        "In what",
        { oneOf: ["per_run_usd", "per_session_usd", "per_hour_usd", "per_day_usd", "per_month_usd"] },
      ),
      severity: text("SEVERITY", "How grave it is", { oneOf: ["info", "warning", "critical"] }),
      "agent-id": text("NAME", "Only what this agent spends", { live: "agent" }),
      cooldown: text("SECONDS", "At most one alert in this time (default 3600)"),
      repeat: text("HOW", "cooldown (default), or once_per_window: once for each run, session, day, …", {
        oneOf: ["cooldown", "once_per_window"],
      }),
      disabled: flag("Add it disabled"),
    },
    examples: [
      [
        'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning',
        "All agents together",
      ],
      [
        "purser alerts add --name Runaway --threshold-usd 0.50 --threshold-type per_run_usd --severity critical " +
        "--agent-id researcher --cooldown 0",
        "Each call of a run that has cost 50 cents",
      ],
    ],
    load: async () => (await import("../commands/alerts/alerts_add.ts")).alertsAdd,
  },
  {
    name: "alerts enable",
    args: [arg("RULE", { live: "rule" })],
    summary: "Enable an alert rule",
    detail: "It fires at the next call that is booked while its line is crossed, and not before.",
    options: {},
    examples: [["purser alerts enable rule_42", ""]],
    load: async () => (await import("../commands/alerts/alerts_enable.ts")).alertsEnable,
  },
  {
    name: "alerts disable",
    args: [arg("RULE", { live: "rule" })],
    summary: "Disable an alert rule",
    options: {},
    examples: [["purser alerts disable rule_42", ""]],
    load: async () => (await import("../commands/alerts/alerts_disable.ts")).alertsDisable,
  },
  {
    name: "alerts remove",
    args: [arg("RULE", { live: "rule" })],
    summary: "Remove an alert rule; its history stays",
    options: {},
    examples: [["purser alerts remove rule_42", ""]],
    load: async () => (await import("../commands/alerts/alerts_remove.ts")).alertsRemove,
  },
  {
    name: "alerts test",
    args: [arg("RULE", { live: "rule" })],
    summary: "Send a test of a rule through every channel",
    detail: "Once, whatever the channels want to hear of. Exit code 1 if any of them failed.",
    options: {},
    examples: [["purser alerts test rule_42", ""]],
    load: async () => (await import("../commands/alerts/alerts_try.ts")).alertsTest,
  },
  {
    name: "alerts history",
    args: [],
    summary: "List the latest alerts and their deliveries",
    options: { limit: text("N", "How many at most, 1 to 500 (default 20)") },
    examples: [["purser alerts history --limit 5", ""]],
    isReadOnly: true,
    load: async () => (await import("../commands/alerts/alerts_history.ts")).alertsHistory,
  },
];
