import type { ReadSnapshot } from "../../../snapshots/document/mod.ts";
import { arg, type Command, type CommandContext, option } from "../../command.ts";
import { formatCount, formatTags, paintStatus } from "../../render/format_values.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeJson } from "../../terminal/escape_text.ts";

/** `purser state show FILE [--format table|json]` */
export const stateShow: Command = {
  name: "state show",
  args: [arg("FILE", { isFile: true })],
  summary: "Show the contents of a snapshot file",
  detail: "Checks the whole file. Needs no database. FILE may be a gzip file, or - for standard input.",
  options: { format: option("FORMAT", "table (default) or json", { oneOf: ["table", "json"] }) },
  examples: [
    ["purser state show session.json", ""],
    ["purser state show session.json.gz --format json", "The whole document"],
  ],
  isReadOnly: true,
  run: showSnapshot,
};

async function showSnapshot(ctx: CommandContext): Promise<void> {
  const format = ctx.options.oneOf("format", ["table", "json"]) ?? (ctx.isJson ? "json" : "table");
  const [path] = ctx.args as [string];
  const { readDocument } = await import("../../../snapshots/document/mod.ts");
  const { openSource } = await import("../../../snapshots/files/mod.ts");
  const bytes = await openSource(path === "-" ? ctx.terminal.stdin() : path);
  await using snapshot = await readDocument(bytes, { maxBytes: ctx.config.maxSnapshotBytes });
  if (format === "table") return ctx.print(renderSnapshot(ctx, snapshot));
  for await (const text of writeIndented(snapshot)) ctx.terminal.stdout.write(escapeJson(text));
}

/** Renders the table of the fields. */
function renderSnapshot(ctx: CommandContext, { head, messageCount }: ReadSnapshot): string {
  const rows: [field: string, value: string][] = [
    ["schema_version", String(head.schema_version)],
    ["agent_id", head.agent_id],
    ["session_id", head.session_id],
    ["status", head.state.status],
    ["messages", formatCount(messageCount)],
    ["event_log_count", formatCount(head.event_log_count)],
    ["source_environment", head.source_environment],
    ["exported_at", head.exported_at],
    ["tags", formatTags(head.tags)],
  ];
  return renderTable(rows, [
    { title: "Field", cell: ([field]) => field },
    {
      title: "Value",
      cell: ([, value]) => value,
      cutTo: 10,
      paint: ([field, status], style) => field === "status" ? paintStatus({ status }, style) : undefined,
    },
  ], ctx.layout);
}

/** Writes the document indented, one element at a time. */
async function* writeIndented({ head, messages, events }: ReadSnapshot): AsyncGenerator<string> {
  // Random, so that the document can't contain them.
  const [MESSAGES, EVENTS] = [crypto.randomUUID(), crypto.randomUUID()];
  const frame = JSON.stringify(
    { ...head, state: { ...head.state, messages: MESSAGES }, ...(head.events && { events: EVENTS }) },
    null,
    2,
  );
  const lists = {
    [JSON.stringify(MESSAGES)]: [messages, "    "],
    [JSON.stringify(EVENTS)]: [events, "  "],
  } as const;
  for (const piece of frame.split(new RegExp(`("${MESSAGES}"|"${EVENTS}")`))) {
    const list = lists[piece];
    if (!list) {
      yield piece;
      continue;
    }
    const [pages, indent] = list;
    let separator = "[";
    for await (const page of pages()) {
      for (const text of page) {
        const lines = JSON.stringify(JSON.parse(text), null, 2).replaceAll("\n", `\n${indent}  `);
        yield `${separator}\n${indent}  ${lines}`;
        separator = ",";
      }
    }
    yield separator === "[" ? "[]" : `\n${indent}]`;
  }
  yield "\n";
}

/** `purser state replay SESSION|FILE [--from SEQ] [--until SEQ]` */
export const stateReplay: Command = {
  name: "state replay",
  args: [arg("SESSION|FILE", { live: "session", isFile: true })],
  summary: "Step through a session's event log",
  detail:
    "On a terminal, use the keys → next, ← back, ↑↓ scroll, g first, G last, q quit. Piped, or with --json, prints " +
    "every step. A FILE is a snapshot: - for standard input, a path, or a name that ends with .json or .gz.",
  options: {
    from: option("SEQ", "First event to show; totals include the events before it"),
    until: option("SEQ", "Last event to show"),
  },
  examples: [
    ["purser state replay ses_42", ""],
    ["purser state replay ses_42 --from 10 --until 20 --json", "For another program"],
    ["purser state replay ./ses_42.json", "From a snapshot"],
  ],
  isReadOnly: true,
  run: async (ctx) => {
    const { replaySession } = await import("../../replay/replay_session.ts");
    return await replaySession(ctx);
  },
};
