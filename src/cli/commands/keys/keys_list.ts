import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import { KEY_STATUSES } from "../../../contract/values.ts";
import { type Command, type CommandContext, option } from "../../command.ts";
import type { Paint, Style } from "../../terminal/style.ts";
import { formatTime } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { putIdsBelow } from "../../render/render_table.ts";
import { renderTable } from "../../render/render_table.ts";

const NONE =
  "No keys yet: servers answer this machine only. Create one: purser keys create ops --scope admin";

/** The width of the narrowest name, the status and all scopes beside an id. */
const ROOM_BESIDE_ID = 37;

/** `purser keys list [--status STATUS] [--limit N]` */
export const keysList: Command = {
  name: "keys list",
  args: [],
  summary: "List API keys, newest first",
  detail: "Includes expired and revoked keys, unless --status is given. The keys themselves are never shown.",
  options: {
    status: option("STATUS", "Only keys of this status", { oneOf: KEY_STATUSES }),
    limit: option("N", "Maximum number of keys, 1 to 1000 (default 100)"),
  },
  examples: [["purser keys list --status active", ""]],
  isReadOnly: true,
  run: listKeys,
};

async function listKeys(ctx: CommandContext): Promise<void> {
  const status = ctx.options.oneOf("status", KEY_STATUSES);
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.keys.max }) ?? 100;
  const { api } = await ctx.connect();
  const answer = await api.keys.$get({ query: { status, limit: String(limit) } });
  await printAnswer(ctx, answer, (keys) => {
    if (keys.length === 0) return status === undefined ? NONE : `No ${status} keys`;
    const minute = (time: string | null, none: string) =>
      time === null ? none : formatTime(time).slice(0, 16);
    const { columns } = ctx.terminal.stdout;
    const widestId = Math.max(...keys.map(({ key_id }) => key_id.length));
    // Revoking a key needs the whole id, so it is never cut.
    const isBeside = columns === undefined || widestId + ROOM_BESIDE_ID <= columns;
    const table = renderTable(keys, [
      { title: "NAME", cell: (key) => key.name, paint: (_, style) => style.bold, cutTo: 8 },
      ...isBeside ? [{ title: "ID", cell: (key: typeof keys[number]) => key.key_id }] : [],
      { title: "STATUS", cell: (key) => key.status, paint: paintKeyStatus },
      { title: "SCOPES", cell: (key) => key.scopes.join(", ") },
      { title: "AGENT", cell: (key) => key.agent_id ?? "all", cutTo: 8, drop: 3 },
      { title: "EXPIRES (UTC)", cell: (key) => minute(key.expires_at, "never"), drop: 2 },
      { title: "LAST USED (UTC)", cell: (key) => minute(key.last_used_at, "never"), drop: 1 },
    ], { columns, style: ctx.style, hasUnicode: ctx.terminal.hasUnicode });
    return isBeside ? table : putIdsBelow(table, keys.map(({ key_id }) => ctx.style.dim(escapeText(key_id))));
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more keys; --limit shows up to 1000");
}

/** The colour of a key's status. */
function paintKeyStatus({ status }: Pick<ApiKey, "status">, style: Style): Paint {
  return { active: style.green, expired: style.yellow, revoked: style.dim }[status];
}
