import { describeFields } from "../../../contract/definitions/describe_fields.ts";
import type { AuditEntry } from "../../../contract/service.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { AUDIT_KINDS } from "../../../contract/values.ts";
import type { CommandContext } from "../../command.ts";
import { checkName } from "../../parse/given_fields.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { formatTime } from "../../render/format_values.ts";
import { hasMore, printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";

const DEFAULT_LIMIT = 20;

/** Runs `purser audit`. */
export async function listAudit(ctx: CommandContext): Promise<void> {
  const { options, clock } = ctx;
  const when = (name: string) => options.read(name, (text) => parseSince(text, clock.now(), ctx.config));
  const limit = options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.audit.max }) ?? DEFAULT_LIMIT;
  const query = {
    kind: options.oneOf("kind", AUDIT_KINDS),
    subject: options.read("subject", checkName),
    by: options.read("by", checkName),
    from: when("since"),
    to: when("until"),
    limit: String(limit),
  };
  const { api } = await ctx.connect();
  const answer = await api.audit.$get({ query });
  await printAnswer(ctx, answer, (entries) => {
    if (entries.length === 0) return "No changes";
    return renderTable(entries, [
      {
        title: "WHEN (UTC)",
        cell: ({ at }) => formatTime(at).slice(0, ctx.layout.columns ? 16 : undefined),
      },
      { title: "BY", cell: nameAuthor, cutTo: 8 },
      { title: "ACTION", cell: ({ action }) => action },
      { title: "KIND", cell: ({ kind }) => kind, drop: 2 },
      {
        title: "NAME",
        cell: ({ subject_name, subject_id }) => subject_name ?? subject_id,
        paint: (_, style) => style.bold,
        cutTo: 8,
      },
      { title: "CHANGE", cell: describeChange, cutTo: 20, drop: 0 },
      { title: "ID", cell: ({ subject_id }) => subject_id, cutTo: 8, drop: 3 },
    ], ctx.layout);
  });
  if (!ctx.isJson && hasMore(answer)) {
    ctx.say(`There are more changes; --limit shows up to ${PAGE_SIZES.audit.max}`);
  }
}

/** Names who made a change: `anna`, `anna (dashboard)`, `anna@laptop`, `code`, and the file that was applied. */
function nameAuthor({ actor, actor_name, key_id, label }: AuditEntry): string {
  const name = actor_name ?? key_id ?? actor;
  const by = actor === "session" ? `${name} (dashboard)` : name;
  return label === null ? by : `${by}, ${label}`;
}

/** Renders what has changed: `limit_usd 50 → 80`; of what is new or removed nothing, since all of it is. */
const describeChange = ({ action, before, after }: AuditEntry) =>
  action === "created" || action === "removed" ? "" : describeFields({ before, after }).join(", ");
