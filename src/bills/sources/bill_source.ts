import type { BillSeries } from "../../contract/values.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { BillLine } from "../lines/bill_line.ts";
import type { BillTerms } from "./bill_terms.ts";

/*
 * The contract of the sources of bills. A source knows the form of one provider's answers or files and nothing else: pages are fetched
 * with its key, retried, staged, compared with earlier ones and shown by the import.
 */

/** The version of the contract between Purser and the sources of bills. A plugin declares the version it was written for. */
export const BILL_CONTRACT = 1;

/** A source of lines of bills. */
export interface BillSource extends BillTerms {
  contract: typeof BILL_CONTRACT;
  /** For people: `Anthropic`. */
  title: string;
  /** The date and the source of the document that it was written by. */
  seen: string;
  /** The facts that its lines can't show, a sentence each. */
  holes: readonly string[];
  /** The series that an answer has for all of its window: earlier lines in it that it has no more are replaced. */
  series: readonly BillSeries[];
  /** True if lines with the same key are several ones, as the rows of files and the events of single calls are. */
  areRowsDistinct?: true;
  /** Other sources of the same usage, of which one may be imported for a month. */
  excludes?: readonly string[];
  /** For the series `usage`: answers by the minute, if they are asked for. */
  hasMinutes?: true;
  fetch?: {
    /** Of its API: `https://api.anthropic.com`. */
    origin: string;
    key: {
      /** The environment variable that has it. */
      variable: string;
      /** The kind of key and its scope. */
      scope: string;
      headers(key: string): Record<string, string>;
    };
    /** The days before today that can be asked for; undefined: any. */
    maxAgeDays?: number;
    /** The account has to be named, since it is part of the address. */
    needsAccount?: true;
    /** Yields the pages of a query, from `query.page` on. */
    fetchPages(ctx: FetchContext, query: FetchQuery): AsyncIterable<BillPage>;
  };
  /** Yields the lines of a file, a page at a time. Throws if the file doesn't end as it should. */
  readFile?(file: BillFile): AsyncIterable<BillPage>;
}

/** A page of lines. */
export interface BillPage {
  lines: BillLine[];
  /** The token from which the query goes on after this page; undefined for the last one. */
  next?: string | undefined;
  /** The time up to which the source had counted, where it says so; in milliseconds since the epoch. */
  refreshedAt?: number | undefined;
  /** The parts that were not understood, with their number: `{"field foo": 3}`. */
  unknown: Record<string, number>;
  /** The account that the page is of, where it says so. */
  account?: string | undefined;
}

/** The query of an import. */
export interface FetchQuery {
  /** [from, to), days of UTC; in milliseconds since the epoch. */
  from: number;
  to: number;
  account: string;
  /** The time at which the import was begun. */
  askedAt: number;
  /** True for usage by the minute, as far as the source has it. */
  isByMinute: boolean;
  /** The token of the page to begin with. It comes back with the same query only. */
  page: string | undefined;
}

/** The parts that a source fetches with. */
export interface FetchContext {
  /** Asks the API, and returns its JSON with the text of each number. Limits of rates are waited for. Throws a `BillRefusal`. */
  ask(request: BillRequest): Promise<unknown>;
}

/** A request to the API of a source. */
export interface BillRequest {
  /** Below the origin: `/v1/organization/costs`. */
  path: string;
  /** A list is repeated; undefined is left out. */
  query?: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  headers?: Readonly<Record<string, string>>;
  /** Is sent as JSON, by POST. */
  body?: unknown;
}

/** A file with lines of a bill. */
export interface BillFile {
  name: string;
  /** Yields its content as text, uncompressed. */
  text(): AsyncIterable<string>;
  /** For a file that is a table by itself, as Parquet is: yields its rows as those of CSV, the names of its columns first. */
  rows?(): AsyncIterable<string[]>;
  /** For a source without fields of its own: its columns by the fields of lines. */
  columns: Readonly<Record<string, string>>;
}

/** An answer of a source that is no success. */
export class BillRefusal extends PurserError {
  constructor(readonly status: number, code: "provider_error" | "unavailable", message: string) {
    super(code, message);
  }
}

/** The token of a page is not valid any more: the query has to begin anew. */
export class PageExpired extends Error {
  override name = "PageExpired";
}

/** Adds the version of the contract to a source, and infers its types. */
export function defineBillSource(source: Omit<BillSource, "contract">): BillSource {
  return { contract: BILL_CONTRACT, ...source };
}

/** Statuses of an answer to a page's token that has expired, or is of another query. */
const EXPIRED = [400, 404, 410, 422];

/**
 * Fetches the pages of several requests, one after the other; the token of a page names its request. `ask` makes the request of a page
 * of the provider's token, and `read` reads its answer.
 */
export async function* fetchAll<Part, Page extends Pick<BillPage, "next"> = BillPage>(
  ctx: FetchContext,
  page: string | undefined,
  parts: readonly Part[],
  { requestOf, read }: {
    requestOf(part: Part, token: string | undefined): BillRequest;
    read(answer: unknown, part: Part, token: string | undefined): Page;
  },
): AsyncGenerator<Page> {
  let [first, token] = page === undefined ? [0, undefined] : JSON.parse(page) as [number, string?];
  for (let index = first; index < parts.length; index++) {
    do {
      const sent = token;
      const answer = await ctx.ask(requestOf(parts[index]!, sent)).catch((error) => {
        const isExpired = sent !== undefined && error instanceof BillRefusal &&
          EXPIRED.includes(error.status);
        throw isExpired ? new PageExpired(error.message, { cause: error }) : error;
      });
      const said = read(answer, parts[index]!, sent);
      token = said.next;
      if (token !== undefined && token === sent) {
        throw new PurserError(
          "provider_error",
          "Cannot read the next page: the answer names the same one again",
        );
      }
      const isLast = token === undefined && index === parts.length - 1;
      const next = token === undefined ? [index + 1] : [index, token];
      yield { ...said, next: isLast ? undefined : JSON.stringify(next) };
    } while (token !== undefined);
  }
}
