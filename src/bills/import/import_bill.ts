import { createHash } from "node:crypto";
import { readKeyFile } from "../../config/mod.ts";
import type { BillSetting, Environment } from "../../config/mod.ts";
import { startOf } from "../../contract/windows.ts";
import { type Clock, DAY_MS, MINUTE_MS, toIso } from "../../kernel/clock.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Secrets } from "../../redaction/values/mod.ts";
import { BILL_CONTRACT, type BillPage, type BillSource, PageExpired } from "../sources/bill_source.ts";
import { loadSource } from "../sources/load_sources.ts";
import { BillBusy, createAsk, keyIn } from "./ask.ts";
import {
  beginImport,
  type BillImport,
  type BillQuery,
  type BillStore,
  END,
  failImport,
  findDoubled,
  findImport,
  finishImport,
  restartImport,
  stagePage,
} from "./store_import.ts";

/** The parts that imports of bills need. */
export interface BillContext extends BillStore {
  clock: Clock;
  log: Log;
  secrets: Secrets;
  /** Has the keys of sources. */
  providerSources: { env: Environment };
  /** Absolute paths of modules that may define sources. */
  plugins: readonly string[];
  /** The sources that the config names. */
  billImports: readonly BillSetting[];
  stopping: AbortSignal;
  fetch?: typeof globalThis.fetch | undefined;
}

/** An import from the API of a source. */
export interface BillRange {
  source: string;
  account?: string | undefined;
  /** [from, to), extended to whole days of UTC; in milliseconds since the epoch. */
  from: number;
  to: number;
  /** True for usage by the minute, where the source has it. */
  isByMinute?: boolean | undefined;
}

/** The state of an import after one step of it. */
export interface ImportStep extends BillImport {
  /** The import goes on by the same step again: after this delay, where the source can't answer now. */
  retryAfterMs?: number;
  /** The reason of the delay. */
  reason?: string;
}

/** The time after which a step ends with the page that it is at. */
const STEP_MS = 5_000;

/**
 * Imports what an API says of a window, page by page, for some seconds. An import that has not ended by then, or that was cut off,
 * goes on by the same call: its query is the same.
 *
 * @throws {PurserError} `invalid` for a source, an account or a window that it doesn't have; `provider_error` as the API refuses
 */
export async function stepImport(ctx: BillContext, range: BillRange): Promise<ImportStep> {
  const { account = "" } = range;
  const source = await loadSource(range.source, ctx.plugins);
  const [from, to] = [startOf("day", range.from), startOf("day", range.to - 1, 1)];
  checkRange(source, { from, to, account, now: ctx.clock.now() });
  const isByMinute = range.isByMinute === true && source.hasMinutes === true;
  const { key, baseUrl } = await readAccess(ctx, source, account);
  const queryHash = hashOf(source, { account, from, to, isByMinute });
  // Days that have not begun have no lines, and some APIs refuse them.
  const tomorrow = startOf("day", ctx.clock.now(), 1);
  const query = { source: source.name, account, from, to: Math.min(to, tomorrow), queryHash };
  await refuseDoubled(ctx, source, query);
  let at = await beginImport(ctx, query);
  const until = ctx.clock.now() + STEP_MS;
  for (let hasRestarted = false;;) {
    try {
      const ask = createAsk({ ...ctx, fetch: ctx.fetch ?? globalThis.fetch, signal: ctx.stopping }, {
        what: `the bill of ${source.name}`,
        origin: baseUrl ?? source.fetch!.origin,
        key,
        headers: source.fetch!.key.headers(key),
        remedies: {
          403: "see the scope that purser bills sources names",
          404: "the organization has no such report, or the account is misspelled",
        },
      });
      const pages = at.page === END ? [] : source.fetch!.fetchPages({ ask }, {
        ...{ from: at.from, to: at.to, account, askedAt: at.createdAt, isByMinute },
        page: at.page ?? undefined,
      });
      for await (const page of pages) {
        checkAccount(source, account, page);
        checkWindow(at, page.lines);
        at = await stagePage(ctx, at, page);
        if (at.page !== END && ctx.clock.now() >= until) return { ...at, retryAfterMs: 0 };
      }
      return await finishImport(ctx, at, {
        wholeSeries: source.series,
        areRowsDistinct: source.areRowsDistinct ?? false,
      });
    } catch (error) {
      if (error instanceof PageExpired && !hasRestarted) {
        hasRestarted = true;
        at = await restartImport(ctx, at);
        continue;
      }
      if (error instanceof BillBusy) {
        return {
          ...at,
          retryAfterMs: error.retryAfterMs ?? MINUTE_MS,
          reason: ctx.secrets.scrub(error.message),
        };
      }
      // Another process goes on with it, or the database can't be reached: nothing is wrong with the import.
      const isOfSource = !(error instanceof PurserError) ||
        ["invalid", "provider_error"].includes(error.code);
      if (isOfSource) await failImport(ctx, at, ctx.secrets.scrub(messageOf(error)));
      throw error instanceof PurserError ? ctx.secrets.scrubError(error) : new PurserError(
        "provider_error",
        ctx.secrets.scrub(`Cannot read the bill of ${source.name}: ${messageOf(error)}`),
        { cause: error },
      );
    }
  }
}

/** The state of an import after a step, as far as its repetition needs it. */
type StepState = Pick<ImportStep, "status" | "retryAfterMs"> & { page: string | null };

/** Repeats the steps of an import to its end: at most `MAX_WAITS` delays of at most an hour in a row. */
export async function importToEnd<State extends StepState>(
  { clock, stopping }: { clock: Pick<Clock, "sleep">; stopping?: AbortSignal },
  step: () => Promise<State>,
): Promise<State> {
  let [waits, page]: [number, string | null | undefined] = [0, undefined];
  for (;;) {
    const state = await step();
    if (state.status !== "in_progress" || stopping?.aborted) return state;
    if (state.page !== page) waits = 0;
    page = state.page;
    const delayMs = state.retryAfterMs ?? 0;
    if (delayMs > 60 * MINUTE_MS || waits++ >= MAX_WAITS) return state;
    await clock.sleep(delayMs, stopping);
  }
}
const MAX_WAITS = 5;

/** A file whose lines a client has read. */
export interface FileToImport {
  source: string;
  account?: string | undefined;
  sha256: string;
  /** Of all that the lines depend on besides the file, such as the names of its columns. */
  how: string;
  /** The window that the file has all lines of, where it is known: others in it are replaced. */
  from?: number | undefined;
  to?: number | undefined;
}

/**
 * Begins the import of a file, or goes on with it: `lines` is the number of those that were staged already. A file that was imported
 * before is answered with that import, unless lines of its time were imported since: then it is imported again.
 */
export async function beginFile(ctx: BillContext, file: FileToImport): Promise<BillImport> {
  const { account = "", sha256, how, from = 0, to = 0 } = file;
  const source = await loadSource(file.source, ctx.plugins);
  const queryHash = hashOf(source, { account, sha256, how, from, to });
  const known = await findImport(ctx, { source: source.name, account, queryHash });
  if (known) return known;
  return await beginImport(ctx, { source: source.name, account, from, to, queryHash, sha256 });
}

/** A part of the lines of a file. */
export interface FilePart extends Pick<BillPage, "lines" | "unknown"> {
  /** The number of lines before it. */
  offset: number;
  isLast: boolean;
}

/** Stages a part of the lines of a file; the last one shows all of them. A part that fails leaves what was staged, unseen. */
export async function addLines(ctx: BillContext, importId: string, part: FilePart): Promise<BillImport> {
  const found = await findImport(ctx, { importId });
  if (!found?.sha256) throw new PurserError("not_found", `Cannot find an import of a file ${importId}`);
  if (found.status !== "in_progress" || found.lines !== part.offset) {
    const state = `it is ${found.status}, with ${found.lines} lines`;
    throw new PurserError("conflict", `Cannot add lines from ${part.offset} on to ${importId}: ${state}`);
  }
  const source = await loadSource(found.source, ctx.plugins);
  const isWhole = found.to > found.from;
  if (isWhole) checkWindow(found, part.lines);
  const next = part.isLast ? undefined : `${part.offset + part.lines.length}`;
  const staged = await stagePage(ctx, found, { ...part, next });
  if (!part.isLast) return staged;
  const [first, last] = await spanOfLines(ctx, importId);
  const query: BillQuery = { ...staged, from: isWhole ? found.from : first, to: isWhole ? found.to : last };
  await refuseDoubled(ctx, source, query);
  return await finishImport(ctx, { ...staged, ...query }, {
    wholeSeries: isWhole ? source.series : [],
    areRowsDistinct: source.areRowsDistinct ?? false,
  });
}

async function spanOfLines({ store }: BillContext, importId: string): Promise<[number, number]> {
  const { rows } = await store.read({
    sql: "SELECT min(starts_at), max(ends_at) FROM bill_lines WHERE import_id = ?",
    args: [importId],
  });
  return rows[0]!.map((at) => Number(at ?? 0)) as [number, number];
}

const hashOf = ({ mapping }: BillSource, query: object) =>
  createHash("sha256").update(JSON.stringify({ contract: BILL_CONTRACT, mapping, ...query })).digest("hex");

function checkRange(
  { name, fetch, readFile }: BillSource,
  { from, to, account, now }: { from: number; to: number; account: string; now: number },
): void {
  const refuse = (why: string) => new PurserError("invalid", `Cannot import a bill of ${name}: ${why}`);
  if (!fetch) throw refuse(`it is read from a file${readFile ? "; give it by --file" : ""}`);
  if (fetch.needsAccount && account === "") throw refuse("its account is not named; give it by --account");
  if (to <= from || from > now) throw refuse("the window is empty, or has not begun");
  const oldest = fetch.maxAgeDays === undefined ? 0 : now - fetch.maxAgeDays * DAY_MS;
  if (from < startOf("day", oldest)) {
    throw refuse(
      `it has the last ${fetch.maxAgeDays} days only; begin at ${toIso(oldest).slice(0, 10)} or later`,
    );
  }
}

/** Refuses a page of another account than the one that was asked for. */
export function checkAccount({ name }: BillSource, account: string, page: BillPage): void {
  if (page.account === undefined || account === "" || page.account === account) return;
  throw new PurserError(
    "invalid",
    `Cannot import a bill of ${name}: it is of the account ${page.account}, not ${account}`,
  );
}

/** Refuses lines outside of the window that is replaced. */
function checkWindow({ source, from, to }: BillQuery, lines: BillPage["lines"]): void {
  const outside = lines.find(({ startsAt }) => startsAt < from || startsAt >= to);
  if (!outside) return;
  const state = `it has a line of ${toIso(outside.startsAt)}, outside of [${toIso(from)}, ${toIso(to)})`;
  throw new PurserError("invalid", `Cannot import a bill of ${source}: ${state}`);
}

async function refuseDoubled(
  ctx: BillContext,
  { name, excludes = [] }: BillSource,
  query: BillQuery,
): Promise<void> {
  const found = await findDoubled(ctx, query, excludes);
  if (!found) return;
  const account = found.account === "" ? "no account" : `the account ${found.account}`;
  const own = query.account === "" ? "without --account" : `with --account ${query.account}`;
  throw new PurserError(
    "conflict",
    `Cannot import a bill of ${name} ${own}: lines of ${found.source} with ${account} are there for this time, which would ` +
      "count its usage twice; use the same source and account",
  );
}

async function readAccess(
  ctx: BillContext,
  { name, fetch }: BillSource,
  account: string,
): Promise<{ key: string; baseUrl: string | undefined }> {
  const setting = ctx.billImports.find((each) => each.source === name && (each.account ?? "") === account) ??
    ctx.billImports.find((each) => each.source === name && each.account === undefined);
  const { variable, scope } = fetch!.key;
  const key = setting?.keyFile === undefined
    ? keyIn(ctx.providerSources.env, [setting?.keyEnv ?? variable], `import a bill of ${name}`, scope)
    : await readKeyFile(setting.keyFile, (message) => ctx.log.warn(message));
  ctx.secrets.add([key]);
  return { key, baseUrl: setting?.baseUrl };
}
