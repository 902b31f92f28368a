import { arg, type CommandSpec, flag, text } from "./command_spec.ts";

/** `purser state …`: snapshots and replay */
export const state: readonly CommandSpec[] = [
  {
    name: "state export",
    args: [arg("AGENT", { live: "agent" })],
    summary: "Save a whole session as one portable file",
    detail:
      "The agent's latest session, unless --session names one. The file is there whole or not at all; a name " +
      "that ends with .gz is compressed. It holds all that was said, so only you may read it.",
    options: {
      output: text("FILE", "Where to; - is standard output", { isFile: true }),
      session: text("ID", "Which session", { live: "session" }),
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
    isReadOnly: true,
    load: async () => (await import("../commands/state/state_export.ts")).stateExport,
  },
  {
    name: "state show",
    args: [arg("FILE", { isFile: true })],
    summary: "Show what a snapshot file holds",
    detail: "Checks all of it. Needs no database. - is standard input; a gzip file is read as it is.",
    options: { format: text("FORMAT", "table (default) or json", { oneOf: ["table", "json"] }) },
    examples: [
      ["purser state show session.json", ""],
      ["purser state show session.json.gz --format json", "The whole document"],
    ],
    isReadOnly: true,
    load: async () => (await import("../commands/state/state_show.ts")).stateShow,
  },
  {
    name: "state import",
    args: [arg("FILE", { isFile: true })],
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
    load: async () => (await import("../commands/state/state_import.ts")).stateImport,
  },
  {
    name: "state replay",
    args: [arg("SESSION|FILE", { live: "session", isFile: true })],
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
    isReadOnly: true,
    load: async () => (await import("../commands/state/state_replay.ts")).stateReplay,
  },
];
