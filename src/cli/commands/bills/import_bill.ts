import { addBilled } from "../../../bills/lines/mod.ts";
import {
  type BillPage,
  type BillSource,
  checkAccount,
  importToEnd,
  loadSource,
  openBillFile,
} from "../../../bills/import/mod.ts";
import type { BillImport } from "../../../contract/imports/bills.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { toIso } from "../../../kernel/clock.ts";
import { toSnakeCase } from "../../../kernel/text.ts";
import type { CommandContext } from "../../command.ts";
import { readMonth } from "../../parse/parse_month.ts";
import { parseSince } from "../../parse/parse_time.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { countOf } from "../../render/format_values.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** Runs `purser bills import`. */
export async function importBill(ctx: CommandContext): Promise<number | void> {
  const { options, isJson } = ctx;
  const source = await loadSource(ctx.args[0]!, ctx.config.plugins).catch((error) => {
    throw new UsageError(messageOf(error), options.command, error);
  });
  const path = options.text("file");
  if (path === undefined && options.has("columns")) {
    throw new UsageError("Cannot use --columns without --file", options.command);
  }
  const done = path === undefined ? await importFromApi(ctx, source) : await importFile(ctx, source, path);
  if (isJson) ctx.print(JSON.stringify(done.bill));
  else render(ctx, done);
  return done.bill.status === "done" ? undefined : 1;
}

interface Done {
  bill: BillImport;
  /** The file was imported before. */
  isKnown?: boolean;
  /** The billed amounts of a file, by currency. */
  sums?: ReadonlyMap<string, string>;
}

async function importFromApi(ctx: CommandContext, { name }: BillSource): Promise<Done> {
  const window = readWindow(ctx) ??
    { from: parseSince("month", ctx.clock.now())!, to: toIso(ctx.clock.now()) };
  const { api } = await ctx.connect();
  const json = {
    source: name,
    account: ctx.options.text("account"),
    ...window,
    by_minute: ctx.options.has("by-minute"),
  };
  return await importToEnd(ctx, async () => {
    const bill = await (await api.bills.imports.$post({ json })).json();
    const { status, lines, retry_after_seconds, reason } = bill;
    if (reason && !ctx.isJson) ctx.warn(`${reason}; it goes on in ${retry_after_seconds} s`);
    return { bill, status, page: String(lines), retryAfterMs: (retry_after_seconds ?? 0) * 1_000 };
  });
}

/** The lines of one request. */
const PART_LINES = 500;

async function importFile(ctx: CommandContext, source: BillSource, path: string): Promise<Done> {
  if (!source.readFile) {
    throw new UsageError(`Cannot use --file: ${source.name} is read from its API`, ctx.options.command);
  }
  const window = readWindow(ctx);
  const how = ctx.options.text("columns") ?? "";
  const file = await openBillFile(path, readColumns(ctx, how));
  const { api } = await ctx.connect();
  let account = ctx.options.text("account");
  let bill: BillImport | undefined;
  const begin = async () => {
    const json = { source: source.name, account, ...window, file: { sha256: file.sha256, how } };
    return bill = await (await api.bills.imports.$post({ json })).json();
  };
  const sums = new Map<string, string>();
  let [offset, lines, unknown]: [number, object[], Record<string, number>] = [0, [], {}];
  const send = async (isLast: boolean) => {
    bill ??= await begin();
    // Those before were staged by an import that was cut off.
    if (offset + lines.length > bill.lines || isLast) {
      const param = { import_id: bill.import_id };
      const rest = lines.slice(Math.max(0, bill.lines - offset));
      const json = { offset: Math.max(offset, bill.lines), lines: rest as never[], unknown, is_last: isLast };
      bill = await (await api.bills.imports[":import_id"].lines.$post({ param, json })).json();
    }
    [offset, lines, unknown] = [offset + lines.length, [], {}];
  };
  for await (const page of source.readFile(file)) {
    checkAccount(source, account ?? "", page);
    account ??= page.account;
    if (bill === undefined && (await begin()).status === "done") return { bill: bill!, isKnown: true };
    for (const line of page.lines) {
      if (lines.length === PART_LINES) await send(false);
      addBilled(sums, line);
      lines.push(toWire(line));
    }
    for (const [part, count] of Object.entries(page.unknown)) unknown[part] = (unknown[part] ?? 0) + count;
  }
  await send(true);
  return { bill: bill!, sums };
}

function toWire({ startsAt, endsAt, ...line }: BillPage["lines"][number]): object {
  const named = Object.entries(line).map(([field, value]) => [toSnakeCase(field), value]);
  return { ...Object.fromEntries(named), starts_at: toIso(startsAt), ends_at: toIso(endsAt) };
}

function readWindow({ options, clock }: CommandContext): { from: string; to: string } | undefined {
  const now = clock.now();
  const month = options.read("month", (text) => readMonth(text, now));
  if (month !== undefined && (options.has("since") || options.has("until"))) {
    throw new UsageError("Cannot use --month together with --since or --until", options.command);
  }
  if (month !== undefined) return { from: toIso(month.from), to: toIso(month.to) };
  const when = (text: string) => {
    const at = parseSince(text, now);
    if (at === undefined) throw new Error("it needs a day");
    return at;
  };
  const [from, to] = [options.read("since", when), options.read("until", when)];
  if (from === undefined && to !== undefined) {
    throw new UsageError("Cannot use --until without --since", options.command);
  }
  return from === undefined ? undefined : { from, to: to ?? toIso(now) };
}

/** Parses `starts_at=Date,amount=Cost (USD)`. */
function readColumns({ options }: CommandContext, text: string): Record<string, string> {
  const pairs = text === "" ? [] : text.split(/,(?=[a-z_]+=)/).map((pair) => pair.split(/=(.*)/s, 2));
  const wrong = pairs.find(([field, column]) => !field || !column);
  if (wrong) {
    throw new UsageError(
      `Cannot use --columns: ${wrong[0]} has no column; write FIELD=COLUMN`,
      options.command,
    );
  }
  return Object.fromEntries(pairs);
}

function render(ctx: CommandContext, { bill, isKnown, sums = new Map() }: Done): void {
  const {
    source,
    status,
    lines,
    new_lines,
    revised_lines,
    unknown,
    import_id,
    created_at,
    refreshed_at,
    reason,
    error,
  } = bill;
  if (isKnown) {
    return ctx.print(
      `The file was imported before, by ${import_id} at ${created_at.slice(0, 16)}Z: nothing was changed`,
    );
  }
  if (status !== "done") {
    throw new PurserError(
      "unavailable",
      escapeText(
        `Cannot finish the import of ${source}: ${reason ?? error ?? "it takes longer"}; ${
          countOf(lines, "line")
        } are kept, and the same command goes on`,
      ),
    );
  }
  const at = refreshed_at === null ? "" : `, as of ${refreshed_at.slice(0, 16)}Z`;
  ctx.print(
    `Imported ${countOf(lines, "line")} of ${source}${at}: ${new_lines} new, ${revised_lines} replaced`,
  );
  for (const [currency, amount] of sums) {
    ctx.print(escapeText(`Billed: ${amount} ${currency}${currency === "USD" ? "" : ", which is in no sum"}`));
  }
  for (const [part, count] of Object.entries(unknown)) {
    ctx.warn(escapeText(`Not understood: ${part} (${count})`));
  }
  ctx.say(`Next: purser bills lines --source ${source}`);
}
