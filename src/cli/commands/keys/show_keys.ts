import { PAGE_SIZES } from "../../../contract/limits.ts";
import { KEY_STATUSES } from "../../../contract/values.ts";
import type { ApiKey } from "../../../keys/mod.ts";
import type { CommandContext } from "../../command.ts";
import { idInPath } from "../../parse/command_id.ts";
import { countOf, formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderFields } from "../../render/render_fields.ts";
import { putIdsBelow, renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import type { Paint, Style } from "../../terminal/style.ts";
import { describeTags } from "./keys.ts";

const NONE = "No keys yet: servers answer this machine only. Create one: purser keys add ops --scope admin";

/** The width of the narrowest name, the status and all scopes beside an id. */
const ROOM_BESIDE_ID = 37;

/** Lists keys, newest first. */
export async function listKeys(ctx: CommandContext): Promise<void> {
  const status = ctx.options.oneOf("status", KEY_STATUSES);
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.keys.max }) ?? 100;
  const { api } = await ctx.connect();
  const answer = await api.keys.$get({ query: { status, limit: String(limit) } });
  await printAnswer(ctx, answer, (keys) => {
    if (keys.length === 0) return status === undefined ? NONE : `No ${status} keys`;
    const minute = (time: string | null, none: string) =>
      time === null ? none : formatTime(time).slice(0, 16);
    const { columns } = ctx.layout;
    const widestId = Math.max(...keys.map(({ key_id }) => key_id.length));
    // Revoking a key needs the whole id, so it is never cut.
    const isBeside = columns === undefined || widestId + ROOM_BESIDE_ID <= columns;
    const table = renderTable(keys, [
      { title: "NAME", cell: (key) => key.name, paint: (_, style) => style.bold, cutTo: 8 },
      ...isBeside ? [{ title: "ID", cell: (key: typeof keys[number]) => key.key_id }] : [],
      { title: "STATUS", cell: (key) => key.status, paint: paintKeyStatus },
      { title: "SCOPES", cell: (key) => key.scopes.join(", ") },
      { title: "AGENT", cell: (key) => key.agent_id ?? "all", cutTo: 8, drop: 3 },
      ...keys.some(({ models }) => models !== null)
        ? [{ title: "MODELS", cell: (key: ApiKey) => key.models?.join(", ") ?? "all", cutTo: 12, drop: 5 }]
        : [],
      ...keys.some(({ tags }) => Object.keys(tags).length > 0)
        ? [{ title: "TAGS", cell: (key: ApiKey) => describeTags(key.tags).join(", "), cutTo: 12, drop: 0 }]
        : [],
      { title: "EXPIRES (UTC)", cell: (key) => minute(key.expires_at, "never"), drop: 2 },
      ...keys.some(({ previous_valid_until }) => previous_valid_until != null)
        ? [{
          title: "OLD SECRET UNTIL (UTC)",
          cell: (key: ApiKey) => minute(key.previous_valid_until ?? null, ""),
        }]
        : [],
      ...keys.some(({ web_sessions }) => web_sessions > 0)
        ? [{ title: "SESSIONS", cell: (key: typeof keys[number]) => String(key.web_sessions), drop: 4 }]
        : [],
      { title: "LAST USED (UTC)", cell: (key) => minute(key.last_used_at, "never"), drop: 1 },
    ], ctx.layout);
    return isBeside ? table : putIdsBelow(table, keys.map(({ key_id }) => ctx.style.dim(escapeText(key_id))));
  });
  if (!ctx.isJson && hasMore(answer)) ctx.say("There are more keys; --limit shows up to 1000");
}

/** Shows one key. */
export async function showKey(ctx: CommandContext, keyId: string): Promise<void> {
  const param = { key_id: idInPath(keyId) };
  const { api } = await ctx.connect();
  const at = (time: string | null | undefined, none?: string) => time ? `${formatTime(time)} UTC` : none;
  await printAnswer(ctx, await api.keys[":key_id"].$get({ param }), (key) =>
    renderFields({
      "Key": key.name,
      "Id": key.key_id,
      "Status": key.status,
      "Scopes": key.scopes.join(", "),
      "Agent": key.agent_id ?? "all",
      "Models": key.models?.join(", ") ?? "all",
      "Tags of its calls": describeTags(key.tags).join(", ") || undefined,
      "Paid credits": key.stop_before_credits ? "calls are refused before" : undefined,
      "Created": at(key.created_at),
      "Expires": at(key.expires_at, "never"),
      "Last used": at(key.last_used_at, "never"),
      "New secret": at(key.rotated_at),
      "Old secret until": at(key.previous_valid_until),
      "Revoked": at(key.revoked_at),
      "Browsers": key.web_sessions > 0 ? countOf(key.web_sessions, "session") : undefined,
    }, ctx.layout));
}

/** The colour of a key's status. */
function paintKeyStatus({ status }: Pick<ApiKey, "status">, style: Style): Paint {
  return { active: style.green, expired: style.yellow, revoked: style.dim }[status];
}
