import type { Command } from "./command.ts";

/** An option as the command line and the help know it. */
export interface OptionSpec {
  type: "string" | "boolean";
  /** What its value is called in the help. */
  value?: string;
  summary: string;
}

/** One command: everything about it but its body, which is loaded when it is needed. */
export interface CommandSpec {
  /** Its words, as in `agents set`. */
  name: string;
  /** Names of the arguments that must follow. */
  args: readonly string[];
  summary: string;
  /** More about it, for its own help. */
  detail?: string;
  options: Readonly<Record<string, OptionSpec>>;
  /** Command lines and what they do. */
  examples: readonly (readonly [line: string, what: string])[];
  /** Whether it ends by itself after Ctrl-C, with an exit code of its own. */
  handlesInterrupt?: true;
  load: () => Promise<Command>;
}

const text = (value: string, summary: string): OptionSpec => ({ type: "string", value, summary });
const flag = (summary: string): OptionSpec => ({ type: "boolean", summary });

/** Options that every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  db: text("PATH|URL", "The database: a file, or libsql://… of a server"),
  server: text("URL", "Work through a Purser server instead of a database"),
  "api-key": text("KEY", "The key for that server"),
  config: text("FILE", "Another config file"),
  json: flag("Print the API's answer as JSON, errors too"),
  help: flag("Show help"),
};

/**
 * Every command, in the order of the help. It is all that `--help` loads: nothing here may import more than
 * types. An option has one type in all commands, so that it may stand anywhere on the line.
 */
export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "run",
    args: ["AGENT", "INPUT"],
    summary: "Run an agent on an input",
    detail:
      "Prints the answer; on a terminal as it comes. Tokens and cost go to standard error. With - the input " +
      "is read from standard input. Ctrl-C cancels the run; what its calls cost stays booked.",
    options: { session: text("ID", "Go on from this session, or give a new one its id") },
    examples: [
      ['purser run researcher "What is 17 * 23?"', "Run it in a new session"],
      ['purser run researcher "And squared?" --session ses_42', "Go on in a session"],
      ["git diff | purser run reviewer - > review.md", "Input from another program"],
    ],
    handlesInterrupt: true,
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    name: "agents list",
    args: [],
    summary: "List the agents",
    options: {},
    examples: [["purser agents list", ""]],
    load: async () => (await import("./commands/agents_list.ts")).agentsList,
  },
  {
    name: "agents show",
    args: ["NAME"],
    summary: "Show an agent and what it has cost",
    options: {},
    examples: [["purser agents show researcher", ""]],
    load: async () => (await import("./commands/agents_show.ts")).agentsShow,
  },
  {
    name: "agents set",
    args: ["NAME"],
    summary: "Define an agent, or change one",
    detail: "Only what you give is changed. A new agent needs --model.",
    options: {
      model: text("MODEL", "PROVIDER:MODEL, such as openai:gpt-5, local:my-model or demo:echo"),
      system: text("TEXT", "The system prompt"),
      budget: text("USD", "The most that one run may cost; none for no limit"),
      "budget-mode": text("MODE", "stop: end when the budget is reached; strict: never go over it"),
      "max-steps": text("N", "The most model calls of one run"),
      "max-output-tokens": text("N", "The most output tokens of one call; none for no limit"),
      tool: text("NAME", "A tool it may use; repeat for more. Replaces the tools it had"),
      "no-tools": flag("It may use no tools"),
      "allow-unpriced": flag("Accept a budget although the model has no known price"),
      "no-allow-unpriced": flag("Take that back"),
    },
    examples: [
      ['purser agents set researcher --model openai:gpt-5 --system "Be brief."', "A new agent"],
      ["purser agents set researcher --budget 0.25 --budget-mode strict", "Limit each run to $0.25"],
      [
        "purser agents set helper --model demo:echo --tool calculator --tool current_time",
        "An agent with tools",
      ],
    ],
    load: async () => (await import("./commands/agents_set.ts")).agentsSet,
  },
  {
    name: "agents remove",
    args: ["NAME"],
    summary: "Forget an agent; its sessions and costs stay",
    options: {},
    examples: [["purser agents remove researcher", ""]],
    load: async () => (await import("./commands/agents_remove.ts")).agentsRemove,
  },
  {
    name: "sessions list",
    args: [],
    summary: "List sessions, latest first",
    options: {
      agent: text("NAME", "Only this agent's"),
      limit: text("N", "How many at most, 1 to 1000 (default 20)"),
    },
    examples: [["purser sessions list --agent researcher --limit 5", "Its five latest sessions"]],
    load: async () => (await import("./commands/sessions_list.ts")).sessionsList,
  },
  {
    name: "sessions show",
    args: ["ID"],
    summary: "Show a session: its runs and what each step cost",
    options: {},
    examples: [["purser sessions show ses_42", ""]],
    load: async () => (await import("./commands/sessions_show.ts")).sessionsShow,
  },
  {
    name: "state export",
    args: ["AGENT"],
    summary: "Save a whole session as one portable file",
    detail:
      "The agent's latest session, unless --session names one. The file is there whole or not at all; a name " +
      "that ends with .gz is compressed. It holds all that was said, so only you may read it.",
    options: {
      output: text("FILE", "Where to; - is standard output"),
      session: text("ID", "Which session"),
      tag: text("KEY=VALUE", "Metadata of the snapshot; repeat for more"),
      "with-events": flag("With the session's event log, for replay"),
      redact: flag("Replace what looks like a credential"),
    },
    examples: [
      ["purser state export researcher --output session.json", "Its latest session"],
      [
        "purser state export researcher --session ses_42 --with-events --tag ticket=4711 --output s.json.gz",
        "For forensics",
      ],
      [
        "purser state export researcher --output - | purser state import - --db other.db",
        "Into another database",
      ],
    ],
    handlesInterrupt: true,
    load: async () => (await import("./commands/state_export.ts")).stateExport,
  },
  {
    name: "state show",
    args: ["FILE"],
    summary: "Show what a snapshot file holds",
    detail: "Checks all of it. Needs no database. - is standard input; a gzip file is read as it is.",
    options: { format: text("FORMAT", "table (default) or json") },
    examples: [
      ["purser state show session.json", ""],
      ["purser state show session.json.gz --format json", "The whole document"],
    ],
    load: async () => (await import("./commands/state_show.ts")).stateShow,
  },
  {
    name: "state import",
    args: ["FILE"],
    summary: "Restore a session from a snapshot file",
    detail:
      "Checks the whole file first, then replaces the session at once, or changes nothing. A run in progress in " +
      "that session is cancelled. What the session has cost elsewhere is shown, and not added to what it costs here.",
    options: { "dry-run": flag("Tell what would change, and write nothing") },
    examples: [
      ["purser state import session.json --dry-run", "What would happen"],
      ["purser state import session.json", ""],
    ],
    handlesInterrupt: true,
    load: async () => (await import("./commands/state_import.ts")).stateImport,
  },
  {
    name: "state replay",
    args: ["SESSION|FILE"],
    summary: "Step through a session's event log",
    detail:
      "On a terminal with keys: → next, ← back, ↑↓ scroll, g first, G last, q quit. Piped, or with --json, " +
      "a line or more for each step. A FILE is a snapshot: -, a path, or a name that ends with .json or .gz.",
    options: {
      from: text("SEQ", "Begin with this event; sums still count what came before"),
      until: text("SEQ", "End with this event"),
    },
    examples: [
      ["purser state replay ses_42", ""],
      ["purser state replay ses_42 --from 10 --until 20 --json", "For another program"],
      ["purser state replay ./ses_42.json", "From a snapshot"],
    ],
    load: async () => (await import("./commands/state_replay.ts")).stateReplay,
  },
  {
    name: "cost",
    args: [],
    summary: "Review recent spending across all agents",
    detail:
      "Days are UTC days. WHEN is a span back from now (30m, 24h, 7d, 2w), a date, an ISO time, or all; the " +
      "default is the last 30 days, and with --by hour the last 24 hours.",
    options: {
      by: text("WHAT", "One table: agent, session, run, model, hour or day"),
      since: text("WHEN", "Only calls since then"),
      limit: text("N", "How many rows at most, 1 to 1000 (default 100)"),
    },
    examples: [
      ["purser cost", "Today, this week, this month; by agent and by model"],
      ["purser cost --by model --since 24h", "Models of the last 24 hours"],
      ["purser cost --by day --since 2026-11-01 --json", "For another program"],
    ],
    load: async () => (await import("./commands/cost.ts")).cost,
  },
  {
    name: "alerts list",
    args: [],
    summary: "List the alert rules and what is spent of each",
    detail:
      "SPENT is what the present hour, day or month holds; of a rule per run or session, what the newest one has " +
      "cost.",
    options: {},
    examples: [["purser alerts list", ""]],
    load: async () => (await import("./commands/alerts_list.ts")).alertsList,
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
        "In what: per_run_usd, per_session_usd, per_hour_usd, per_day_usd or per_month_usd",
      ),
      severity: text("SEVERITY", "info, warning or critical"),
      "agent-id": text("NAME", "Only what this agent spends"),
      cooldown: text("SECONDS", "At most one alert in this time (default 3600)"),
      repeat: text("HOW", "cooldown (default), or once_per_window: once for each run, session, day, …"),
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
    load: async () => (await import("./commands/alerts_add.ts")).alertsAdd,
  },
  {
    name: "alerts enable",
    args: ["RULE"],
    summary: "Enable an alert rule",
    detail: "It fires at the next call that is booked while its line is crossed, and not before.",
    options: {},
    examples: [["purser alerts enable rule_42", ""]],
    load: async () => (await import("./commands/alerts_enable.ts")).alertsEnable,
  },
  {
    name: "alerts disable",
    args: ["RULE"],
    summary: "Disable an alert rule",
    options: {},
    examples: [["purser alerts disable rule_42", ""]],
    load: async () => (await import("./commands/alerts_disable.ts")).alertsDisable,
  },
  {
    name: "alerts remove",
    args: ["RULE"],
    summary: "Remove an alert rule; its history stays",
    options: {},
    examples: [["purser alerts remove rule_42", ""]],
    load: async () => (await import("./commands/alerts_remove.ts")).alertsRemove,
  },
  {
    name: "alerts test",
    args: ["RULE"],
    summary: "Send a test of a rule through every channel",
    detail: "Once, whatever the channels want to hear of. Exit code 1 if any of them failed.",
    options: {},
    examples: [["purser alerts test rule_42", ""]],
    load: async () => (await import("./commands/alerts_test_rule.ts")).alertsTest,
  },
  {
    name: "alerts history",
    args: [],
    summary: "List the latest alerts and their deliveries",
    options: { limit: text("N", "How many at most, 1 to 500 (default 20)") },
    examples: [["purser alerts history --limit 5", ""]],
    load: async () => (await import("./commands/alerts_history.ts")).alertsHistory,
  },
  {
    name: "channels list",
    args: [],
    summary: "List the channels that alerts go to",
    detail:
      "They are set up in the config file, and checked here without sending. FROM is the mildest severity that a channel is told of.",
    options: {},
    examples: [["purser channels list", ""]],
    load: async () => (await import("./commands/channels_list.ts")).channelsList,
  },
  {
    name: "channels test",
    args: ["NAME"],
    summary: "Send one test notification through a channel",
    detail: "Exit code 1 if it failed.",
    options: {},
    examples: [["purser channels test slack", ""]],
    load: async () => (await import("./commands/channels_test_channel.ts")).channelsTest,
  },
  {
    name: "doctor",
    args: [],
    summary: "Check that all works, and say what to do",
    detail:
      "Looks at the config, the database, each channel's settings, the alert rules, model keys and deliveries. It " +
      "tries no channel and no key. Exit code 1 if a check failed; 0 with warnings.",
    options: {},
    examples: [
      ["purser doctor", ""],
      ["purser doctor --server http://127.0.0.1:8420", "What a server finds about itself"],
    ],
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    name: "serve",
    args: [],
    summary: "Serve the API until Ctrl-C",
    detail: "Requests in flight and runs in progress get 30 seconds to end. A second Ctrl-C ends at once.",
    options: {
      host: text("ADDRESS", "Where to listen (default 127.0.0.1)"),
      port: text("N", "On which port (default 8420); 0 takes a free one"),
    },
    examples: [
      ["purser serve", "On http://127.0.0.1:8420, with docs at /docs"],
      ["purser serve --db libsql://books.example.com --port 9000", "Over a shared database"],
    ],
    handlesInterrupt: true,
    load: async () => (await import("./commands/serve.ts")).serveCommand,
  },
];
