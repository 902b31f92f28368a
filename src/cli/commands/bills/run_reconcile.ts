import type {
  BillPeriod,
  Reconciliation,
  ReconciliationDetail,
} from "../../../contract/bills/reconciliations.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { parseAmount } from "../../parse/given_fields.ts";
import { readMonth } from "../../parse/parse_month.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { formatCost } from "../../render/format_cost.ts";
import { countOf, formatCount } from "../../render/format_values.ts";
import { printAnswer } from "../../render/print_answer.ts";
import { renderTable } from "../../render/render_table.ts";
import { createProgress, type Progress } from "../../terminal/progress.ts";
import { escapeText } from "../../terminal/escape_text.ts";

/** The variances that are shown of a comparison. */
const SHOWN = 20;

/** Runs `purser reconcile SOURCE`. */
export async function runReconcile(ctx: CommandContext): Promise<number> {
  const { options } = ctx;
  const json = {
    ...readKey(ctx),
    limit_usd: options.read("limit", parseAmount),
    ...options.has("correct") && { correct: true },
  };
  const { api, core } = await ctx.connect();
  if (!core) return await printDetail(ctx, await api.reconciliations.$post({ json }));
  // In this process, without the API, for its progress.
  const { loadSource, reconcileBill } = await import("../../../bills/reconcile/mod.ts");
  const terms = await loadSource(json.source, core.plugins);
  let progress: Progress | undefined;
  const found = await reconcileBill(await core.whole(), terms, json, (days, total) => {
    progress ??= createProgress(ctx, { label: "Comparing", total, unit: "days" });
    progress.reach(days);
  }).finally(() => progress?.end());
  return await printDetail(ctx, { text: () => Promise.resolve(JSON.stringify(found)) });
}

/** Runs `purser reconcile show REC_ID`. */
export async function showReconciliation(ctx: CommandContext): Promise<void> {
  const param = { reconciliation_id: idInPath(readId(ctx)) };
  const { api } = await ctx.connect();
  await printDetail(ctx, await api.reconciliations[":reconciliation_id"].$get({ param }));
}

/** Runs `purser reconcile undo REC_ID`. */
export async function undoCorrections(ctx: CommandContext): Promise<void> {
  const param = { reconciliation_id: idInPath(readId(ctx)) };
  const { api } = await ctx.connect();
  const answer = await api.reconciliations[":reconciliation_id"].undo.$post({ param });
  await printAnswer(
    ctx,
    answer,
    ({ corrections }: ReconciliationDetail) => `${countOf(corrections.undone, "correction")} taken back`,
  );
}

/** Runs `purser reconcile list`. */
export async function listReconciliations(ctx: CommandContext): Promise<void> {
  const limit = ctx.options.wholeNumber("limit", { min: 1, max: PAGE_SIZES.repricings.max }) ?? 100;
  const { api } = await ctx.connect();
  const query = { source: ctx.options.text("source"), limit: String(limit) };
  await printAnswer(ctx, await api.reconciliations.$get({ query }), (rows: Reconciliation[]) => {
    if (rows.length === 0) return "No bill has been compared yet";
    return renderTable(rows, [
      { title: "ID", cell: ({ reconciliation_id }) => reconciliation_id },
      { title: "SOURCE", cell: ({ source, account }) => account ? `${source} ${account}` : source },
      { title: "MONTH", cell: ({ month }) => month },
      { title: "STATE", cell: ({ state }) => nameState(state), drop: 1 },
      { title: "BILL", align: "right", cell: ({ bill_usd }) => formatCost(bill_usd) },
      { title: "LEDGER", align: "right", cell: ({ ledger_usd }) => formatCost(ledger_usd) },
      { title: "UNEXPLAINED", align: "right", cell: ({ unexplained_usd }) => formatCost(unexplained_usd) },
      { title: "COVERED", align: "right", cell: ({ coverage }) => formatShare(coverage.of_scope) },
    ], ctx.layout);
  });
}

/** Runs `purser reconcile months`. */
export async function listMonths(ctx: CommandContext): Promise<void> {
  const { api } = await ctx.connect();
  const answer = await api.bills.periods.$get({ query: { source: ctx.options.text("source") } });
  await printAnswer(ctx, answer, (rows: BillPeriod[]) => {
    if (rows.length === 0) return "No bill has been imported yet";
    return renderTable(rows, [
      { title: "SOURCE", cell: ({ source, account }) => account ? `${source} ${account}` : source },
      { title: "MONTH", cell: ({ month }) => month },
      { title: "STATE", cell: ({ state }) => nameState(state) },
      { title: "BILL", align: "right", cell: ({ bill_usd }) => orDash(bill_usd) },
      { title: "LEDGER", align: "right", cell: ({ ledger_usd }) => orDash(ledger_usd) },
      { title: "FINAL ON", cell: ({ final_on }) => final_on ?? "-" },
      { title: "REASON", cell: ({ reason }) => reason ?? "", cutTo: 12, drop: 0 },
    ], ctx.layout);
  });
}

/** Runs `purser reconcile close SOURCE` and `reopen SOURCE`. */
export async function changeMonth(ctx: CommandContext, verb: "close" | "reopen"): Promise<void> {
  const key = readKey(ctx);
  const reason = verb === "reopen" ? ctx.options.text("reason") : undefined;
  if (verb === "reopen" && !reason) {
    throw new UsageError(
      "Cannot reopen a month without --reason; the audit log keeps it",
      ctx.options.command,
    );
  }
  const { api } = await ctx.connect();
  const answer = verb === "close"
    ? await api.bills.periods.close.$post({ json: key })
    : await api.bills.periods.reopen.$post({ json: { ...key, reason: reason! } });
  await printAnswer(ctx, answer, ({ source, month, state, final_on }: BillPeriod) => {
    const until = state === "soft_closed"
      ? `; the bill is final on ${final_on}, close it again from then on`
      : "";
    return `${month} of ${escapeText(source)} is ${nameState(state)}${until}`;
  });
}

function readKey({ options, args, clock }: CommandContext) {
  const month = options.read("month", (text) => readMonth(text, clock.now()).month) ??
    readMonth("last-month", clock.now()).month;
  const account = options.text("account");
  return { source: args[0]!, month, ...account !== undefined && { account } };
}

/** Prints a comparison, and returns the exit code. */
async function printDetail(ctx: CommandContext, answer: { text(): Promise<string> }): Promise<number> {
  const text = await answer.text();
  const found: ReconciliationDetail = JSON.parse(text);
  if (ctx.isJson) ctx.print(text);
  else ctx.print(renderReconciliation(ctx, found));
  return found.is_within_limit ? EXIT.done : EXIT.failed;
}

const orDash = (usd: number | null): string => usd === null ? "-" : formatCost(usd);
const nameCause = (cause: string): string => cause.replaceAll("_", " ");
const nameState = (state: string): string => state.replace("_", " ");

/** Formats a share, rounded down so that less than all is never 100 %. */
const formatShare = (share: number | null): string =>
  share === null ? "-" : share === 1 ? "100 %" : `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;

function renderReconciliation({ layout }: CommandContext, found: ReconciliationDetail): string {
  const { source, account, month, state, coverage, causes, corrections, bypass } = found;
  const signed = (usd: number) => `${usd > 0 ? "+" : ""}${formatCost(usd)}`;
  const parts = [
    escapeText(
      `${source}${account ? ` ${account}` : ""}, ${month}: ${
        nameState(state)
      }, the bill is final on ${found.final_on}`,
    ),
    renderTable(
      [
        ["Bill", formatCost(found.bill_usd), countOf(found.lines, "line")],
        ["Ledger", formatCost(found.ledger_usd), countOf(found.calls, "call")],
        ["Difference", signed(found.difference_usd), ""],
      ],
      [
        { title: "", cell: ([name]) => name! },
        { title: "USD", align: "right", cell: ([, amount]) => amount! },
        { title: "OF", align: "right", cell: ([, , count]) => count! },
      ],
      layout,
    ),
  ];
  if (causes.length > 0) {
    parts.push(renderTable(causes, [
      { title: "CAUSE", cell: ({ cause }) => nameCause(cause) },
      { title: "USD", align: "right", cell: ({ amount_usd }) => signed(amount_usd) },
      { title: "DIFFERENCES", align: "right", cell: ({ variances }) => formatCount(variances) },
      { title: "WHAT TO DO", cell: ({ advice }) => advice, cutTo: 20, drop: 0 },
    ], layout));
  }
  const shown = found.variances.filter(({ cause }) => cause !== "rounding").slice(0, SHOWN);
  if (shown.length > 0) {
    parts.push(renderTable(shown, [
      { title: "DAY (UTC)", cell: ({ from }) => from.slice(0, 10) },
      { title: "CAUSE", cell: ({ cause }) => nameCause(cause) },
      { title: "MODEL", cell: ({ model }) => model ?? "-", cutTo: 10 },
      { title: "PART", cell: ({ part }) => part ?? "-", cutTo: 8, drop: 2 },
      { title: "KEY", cell: ({ credential }) => credential ?? "-", cutTo: 6, drop: 3 },
      { title: "USD", align: "right", cell: ({ amount_usd }) => signed(amount_usd) },
      { title: "EVIDENCE", cell: ({ evidence }) => evidence, cutTo: 20, drop: 0 },
    ], layout));
  }
  const sentences = [
    `Covered: ${formatShare(coverage.of_scope)} of the bill of known keys, ${
      formatShare(coverage.of_account)
    } of all of it, ${formatShare(coverage.of_ledger)} of the ledger`,
    ...bypass.map(({ credential, amount_usd }) =>
      `Past Purser: ${formatCost(amount_usd)} by ${credential ?? "a key that is not known"}`
    ),
    ...corrections.proposed > corrections.applied
      ? [`${countOf(corrections.proposed - corrections.applied, "estimate")} can be corrected: --correct`]
      : [],
    ...corrections.applied > 0
      ? [
        `${
          countOf(corrections.applied, "call")
        } corrected; purser reconcile undo ${found.reconciliation_id} takes it back`,
      ]
      : [],
    ...found.unnamed_keys > 0
      ? [
        `The provider's id of ${
          countOf(found.unnamed_keys, "key")
        } of the ledger is not known: its calls can't be told from others`,
      ]
      : [],
    ...found.others.map(({ currency, lines, amount }) =>
      currency === "equivalent"
        ? `${countOf(lines, "line")} of what a plan pays for, in no sum`
        : `${amount} ${currency} in ${countOf(lines, "line")}, in no sum`
    ),
    `Unexplained: ${formatCost(found.unexplained_usd)}${
      found.is_within_limit ? "" : `, more than ${formatCost(found.limit_usd)}`
    }`,
    `${found.reconciliation_id}; purser reconcile close ${source} --month ${month} closes the month`,
  ];
  return [...parts, sentences.map((sentence) => escapeText(sentence)).join("\n")].join("\n\n");
}
