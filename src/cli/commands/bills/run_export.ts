import { DEFAULT_FOCUS_VERSION, EXPORT_FORMATS, FOCUS_VERSIONS } from "../../../contract/values.ts";
import type { ExportedCharges } from "../../../contract/exports.ts";
import { ALL_SEEING } from "../../../ledger/mod.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import { toIso } from "../../../kernel/clock.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { readMonth } from "../../parse/parse_month.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { createProgress } from "../../terminal/progress.ts";

const ROWS_PER_PAGE = String(PAGE_SIZES.exportedRows.default);

/** Reads pages until Ctrl-C. */
async function untilInterrupted(ctx: CommandContext, work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return EXIT.done;
  } catch (error) {
    if (ctx.terminal.interrupted.aborted) return EXIT.interrupted;
    throw error;
  }
}

export async function runCallsExport(ctx: CommandContext): Promise<number> {
  const { options, terminal: { interrupted } } = ctx;
  const to = options.text("to");
  if (!to) {
    throw new UsageError(
      "Cannot export: --to is missing; name a folder or s3://BUCKET/PREFIX",
      options.command,
    );
  }
  const format = options.oneOf("format", EXPORT_FORMATS) ?? "parquet";
  const fromPosition = options.wholeNumber("from-position", { min: 1, max: Number.MAX_SAFE_INTEGER });
  const { api, core } = await ctx.connect();
  const { exportCalls, openTarget } = await import("../../../bills/exports/files/mod.ts");
  return await untilInterrupted(ctx, async () => {
    const target = await openTarget({ ...ctx, fetch: globalThis.fetch }, to);
    let progress: ReturnType<typeof createProgress> | undefined;
    let first: number | undefined;
    const manifest = await exportCalls({
      target,
      format,
      fromPosition,
      async readPage(after) {
        interrupted.throwIfAborted();
        first ??= after;
        if (core) {
          // Pages as JSON would take a tenth of the time.
          const { readCalls } = await import("../../../bills/exports/mod.ts");
          return await readCalls(core, { after, limit: PAGE_SIZES.exportedRows.default });
        }
        const answer = await api.exports.calls.$get({
          query: { after: String(after), limit: ROWS_PER_PAGE },
        });
        return await answer.json();
      },
      onProgress(position, head) {
        progress ??= createProgress(ctx, { label: "Exporting", total: head - first!, unit: "rows" });
        progress.reach(position - first!);
      },
    }).finally(() => progress?.end());
    if (ctx.isJson) return ctx.print(JSON.stringify(manifest));
    const { files, entries, calls, cost_usd, from_position, to_position } = manifest;
    const added = to_position - first!;
    ctx.print(
      `${
        added > 0 ? `Exported positions ${first! + 1} to ${to_position}` : "Nothing is new"
      }: ${target.where} has ` +
        `${formatCount(entries)} entries, ${countOf(calls, "call")} for ${cost_usd} USD, ` +
        `from position ${from_position}, in ${countOf(files.length, "file")}`,
    );
  });
}

export async function runFocusExport(ctx: CommandContext): Promise<number> {
  const { options, terminal: { interrupted, stdout } } = ctx;
  const to = options.text("to");
  const version = options.oneOf("version", FOCUS_VERSIONS) ?? DEFAULT_FOCUS_VERSION;
  const format = options.oneOf("format", EXPORT_FORMATS) ?? "csv";
  if (to === undefined && format !== "csv") {
    throw new UsageError(
      "Cannot export Parquet to standard output: --to is missing; name a folder",
      options.command,
    );
  }
  if (to === undefined && ctx.isJson) {
    throw new UsageError(
      "Cannot export FOCUS as JSON: it is CSV; leave out --json, or give --to",
      options.command,
    );
  }
  const span = readSpan(ctx);
  const { api, core } = await ctx.connect();
  const perCall = options.has("per-call");
  const readPage = async (cursor: string | undefined): Promise<ExportedCharges> => {
    interrupted.throwIfAborted();
    if (!core) {
      const per_call = perCall ? "true" as const : undefined;
      const query = { ...span, version, per_call, cursor, limit: ROWS_PER_PAGE };
      return await (await api.exports.focus.$get({ query })).json();
    }
    // Pages as JSON would take half of the time.
    const { readCharges } = await import("../../../bills/exports/mod.ts");
    const [from, to] = [Date.parse(span.from), Date.parse(span.to)];
    const limit = PAGE_SIZES.exportedRows.max;
    return await readCharges(core, { version, from, to, perCall, viewer: ALL_SEEING, limit, cursor });
  };
  const { exportCharges, openTarget, toCsv } = await import("../../../bills/exports/files/mod.ts");
  return await untilInterrupted(ctx, async () => {
    if (to === undefined) {
      let page = await readPage(undefined);
      stdout.write(toCsv([page.columns.map(({ name }) => name)]), "document");
      for (;;) {
        stdout.write(toCsv(page.rows), "document");
        if (page.next_cursor === null) return;
        page = await readPage(page.next_cursor);
      }
    }
    const target = await openTarget({ ...ctx, fetch: globalThis.fetch }, to);
    const progress = createProgress(ctx, { label: "Exporting", total: undefined, unit: "rows" });
    const onProgress = (rows: number) => progress.reach(rows);
    const manifest = await exportCharges({ target, version, format, ...span, readPage, onProgress })
      .finally(() => progress.end());
    if (ctx.isJson) return ctx.print(JSON.stringify(manifest));
    ctx.print(
      `Exported FOCUS ${version} of ${span.from.slice(0, 10)} to ${
        span.to.slice(0, 10)
      } to ${target.where}: ` +
        `${countOf(manifest.rows, "row")}, billed cost ${manifest.billed_cost} USD, in ${
          countOf(manifest.files.length, "file")
        }`,
    );
    if (manifest.unpriced_rows > 0) {
      ctx.warn(
        `${
          formatCount(manifest.unpriced_rows)
        } rows have no price: their costs are 0, and their tokens in x_ConsumedTokens`,
      );
    }
  });
}

/** Returns the span of the charges: a month of UTC, or times. */
function readSpan({ options, clock }: CommandContext): { from: string; to: string } {
  const now = clock.now();
  const since = options.read("since", (text) => parseSince(text, now) ?? toIso(0));
  const until = options.read("until", (text) => parseSince(text, now) ?? toIso(now));
  const month = options.read("month", (text) => readMonth(text, now));
  if (since === undefined && until === undefined) {
    const { from, to } = month ?? readMonth("last-month", now);
    return { from: toIso(from), to: toIso(to) };
  }
  if (month !== undefined) {
    throw new UsageError("Cannot use --month with --since or --until: each names the span", options.command);
  }
  const span = { from: since ?? toIso(0), to: until ?? toIso(now) };
  if (span.from > span.to) {
    throw new UsageError("Cannot use --since: it is later than --until", options.command);
  }
  return span;
}
