import { PAGE_SIZES } from "../../../contract/limits.ts";
import { KEY_STATUSES } from "../../../contract/values.ts";
import type { CommandContext } from "../../command.ts";
import { paintKeyStatus } from "../../render/describe_key.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { putIdsBelow } from "../../render/put_ids_below.ts";
import { renderTable } from "../../render/render_table.ts";

const NONE =
  "No keys yet: a server answers this machine only. Make one: purser keys create ops --scope admin";

/** What the narrowest name, the status and all scopes take beside an id. */
const ROOM_BESIDE_ID = 37;

/** `purser keys list [--status STATUS] [--limit N]` */
export async function keysList(ctx: CommandContext): Promise<void> {
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
    // Needed whole to revoke a key, so never cut.
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
    return isBeside ? table : putIdsBelow(table, keys.map(({ key_id }) => ctx.style.dim(key_id)));
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more keys; --limit shows up to 1000");
}
