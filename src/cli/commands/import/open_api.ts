import {
  BillBusy,
  BillRefusal,
  createAsk,
  fetchAll,
  importToEnd,
  keyIn,
  PageExpired,
} from "../../../bills/import/mod.ts";
import { readKeyFile } from "../../../config/mod.ts";
import type {
  LogImporter,
  LogSink,
  ReaderState,
  RecordsApi,
  RecordsRequest,
} from "../../../ingest/logs/mod.ts";
import { HOUR_MS, MINUTE_MS, toIso } from "../../../kernel/clock.ts";
import type { CommandContext } from "../../command.ts";
import { UsageError } from "../../parse/usage_error.ts";
import type { FoundAgent, ImportRequest } from "./import.ts";

/** Tools write a call after its end, by its start: an import begins so much before the end of the last one. */
const LATE_MS = 2 * HOUR_MS;

/** The API of a tool, as a log whose pages are read as an import goes on. */
export interface OpenApi {
  agent: FoundAgent;
  /** The error that has ended the pages. */
  failure?: Error;
}

/** The place of an import in the pages of its query. */
interface Progress {
  /** The calls of [from, to), in milliseconds since the epoch. */
  from: number;
  to: number;
  /** Of the API. */
  version: number;
  /** The page that follows; null for the first one. */
  page: string | null;
  isEnded: boolean;
}

/**
 * Opens the API of a tool. Without `since` an import begins where the last one has ended. One that was cut off goes on with its query.
 *
 * @throws {PurserError} `invalid` without a key
 */
export async function openApi(ctx: CommandContext, request: ImportRequest, url: string): Promise<OpenApi> {
  const importer = readImporter(ctx, request);
  const [{ api }, { since }] = [importer, request];
  const origin = checkAddress(ctx, url);
  const file = ctx.options.text("key-file");
  const what = `the calls of ${importer.title}`;
  const key = file === undefined
    ? keyIn(ctx.env, api.variables, `read ${what}`, api.scope)
    : await readKeyFile(file, ctx.warn);
  ctx.secrets.add([key, ...key.split(":")]);
  const { clock, terminal: { interrupted } } = ctx;
  const parts = { fetch: globalThis.fetch, clock, signal: interrupted, stopping: interrupted };
  const scope = `it needs ${api.scope}`;
  const ask = createAsk(parts, {
    ...{ what, origin, key, headers: api.headers(key) },
    remedies: { 401: scope, 403: scope, 404: "check --url, or import an export by --file" },
  });

  /** Asks again, as the API says, while it can't answer. */
  async function askPatiently(request: Parameters<typeof ask>[0]): Promise<unknown> {
    const { answer, busy } = await importToEnd(parts, async () => {
      try {
        return { status: "done", page: "", answer: await ask(request) };
      } catch (error) {
        if (!(error instanceof BillBusy)) throw error;
        const retryAfterMs = error.retryAfterMs ?? MINUTE_MS;
        if (!ctx.isJson) ctx.warn(`${error.message}; asking again in ${Math.ceil(retryAfterMs / 1_000)} s`);
        return { status: "in_progress", page: "", retryAfterMs, busy: error };
      }
    });
    if (busy) throw busy;
    return answer;
  }

  async function* pages(state: ReaderState, sink: LogSink) {
    const last = state as Progress | undefined | null;
    if (last && !last.isEnded) yield* readQuery({ ...last }, sink);
    const from = Math.max(since ?? 0, last ? last.to - LATE_MS : 0);
    yield* readQuery({ from, to: clock.now(), version: 0, page: null, isEnded: false }, sink);
  }

  /** Reads the pages of a query from one of them on. */
  async function* readQuery(at: Progress, sink: LogSink) {
    for (let hasRestarted = false;;) {
      try {
        const requests = api.requests(at)[at.version]!;
        const all = fetchAll({ ask: askPatiently }, at.page ?? undefined, requests, {
          requestOf: pageOf,
          read(answer, request, token) {
            const next = api.read(answer, pageOf(request, token), sink);
            return { next: next && JSON.stringify(next) };
          },
        });
        for await (const { next } of all) {
          at.page = next ?? null;
          at.isEnded = next === undefined;
          yield { state: { ...at }, isEnded: at.isEnded };
        }
        return;
      } catch (error) {
        const isUnknown = error instanceof BillRefusal && error.status === 404 && at.page === null &&
          at.version + 1 < api.requests(at).length;
        const hasExpired = error instanceof PageExpired;
        if (!isUnknown && (!hasExpired || hasRestarted)) {
          // As an error of the log itself: what was read is booked, and its state is kept.
          opened.failure = ctx.secrets.scrubError((hasExpired ? error.cause : error) as Error);
          throw new Error(opened.failure.message);
        }
        if (isUnknown) at.version++;
        else hasRestarted = true;
        at.page = null;
      }
    }
  }

  // The state of an import since some time says nothing about the calls before it.
  const path = since === undefined ? origin : `${origin} since ${toIso(since)}`;
  const read = { form: "pages" as const, pages };
  const log = { path, name: path, size: 0, modifiedAt: clock.now(), kind: { read } };
  const opened: OpenApi = { agent: { importer, found: { roots: [path], logs: [log], unreadable: [] } } };
  return opened;
}

/** Returns the request for a page. */
const pageOf = ({ path, query }: RecordsRequest, token: string | undefined): RecordsRequest => ({
  path,
  query: { ...query, ...(token !== undefined && JSON.parse(token)) },
});

function readImporter({ options }: CommandContext, { importers: [importer, other] }: ImportRequest) {
  if (importer?.api && !other) return importer as LogImporter & { api: RecordsApi };
  throw new UsageError("Cannot use --url: name litellm or langfuse, whose API it is", options.command);
}

function checkAddress({ options }: CommandContext, url: string): string {
  if (/^https?:\/\/[^\s?#@]+$/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, "");
  throw new UsageError(
    "Cannot use --url: it isn't an address like https://litellm.example.com",
    options.command,
  );
}
