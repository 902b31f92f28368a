import type { CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatCount, formatTime } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { escapeText } from "../../terminal/escape_text.ts";
import { accountOf } from "../cost/cost_explain.ts";

/** Runs `purser upstreams list`. */
export async function listUpstreams(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  await printAnswer(
    ctx,
    await api.upstreams.$get({ query: {} }),
    (upstreams) =>
      upstreams.length === 0 ? "No call has stated its credential or account yet" : renderTable(upstreams, [
        { title: "UPSTREAM", cell: ({ upstream_id }) => upstream_id },
        { title: "PROVIDER", cell: ({ provider }) => provider },
        { title: "CREDENTIAL", cell: ({ credential }) => credential ?? "unknown" },
        { title: "KEY HASH", cell: ({ key_hash }) => key_hash ?? "-", drop: 2 },
        { title: "ACCOUNT", cell: accountOf, drop: 1 },
        { title: "BILLED AS", cell: ({ key_id }) => key_id ?? "-" },
        { title: "CALLS, 30 D", align: "right", cell: ({ model_calls }) => formatCount(model_calls) },
        {
          title: "LAST (UTC)",
          cell: ({ last_used_at }) => last_used_at === null ? "-" : formatTime(last_used_at),
        },
      ], ctx.layout),
  );
}

/** Runs `purser upstreams set UPSTREAM`. */
export async function setUpstreamKey(ctx: CommandContext): Promise<void> {
  const { args: [upstream_id], options } = ctx;
  const key_id = options.text("key-id");
  if (key_id === undefined) throw new UsageError("Cannot set it without --key-id", options.command);
  const { api } = await ctx.connect();
  const param = { upstream_id: upstream_id! };
  const answer = await api.upstreams[":upstream_id"].$patch({ param, json: { key_id: key_id || null } });
  await printAnswer(
    ctx,
    answer,
    (one) => escapeText(`${one.upstream_id} is ${one.key_id ?? "no key"} on the bills of ${one.provider}`),
  );
}
