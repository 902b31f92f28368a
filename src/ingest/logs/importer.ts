import type { Sighting } from "../../calls/mod.ts";
import type { PlanWindow } from "../../plans/sources/mod.ts";
import type { usageOf } from "../../pricing/mod.ts";

/*
 * The contract of importers: each reads the log files of one agent. An importer knows formats and nothing else: files are found,
 * read, followed and remembered by the import, and sightings are booked by calls/.
 */

/** The version of the contract between Purser and its importers. A plugin declares the version it was written for. */
export const IMPORTER_CONTRACT = 1;

/** The machine on which logs lie. */
export interface Machine {
  os: "linux" | "darwin" | "windows";
  /** The home folder of the user. */
  home: string;
  /** Returns a variable of the environment; undefined where it is not set or empty. */
  env(name: string): string | undefined;
}

/** A log file. */
export interface LogFile {
  /** Absolute. */
  path: string;
  /** Below the root that has it, with `/` between its parts. */
  name: string;
}

/** Receives the content of a log. */
export interface LogSink {
  /** A model call. One that can't be booked, such as with a negative count, counts as malformed. */
  call(sighting: Sighting): void;
  /** A record that says of itself that it is a model call, without its usage. */
  unmetered(reason: string): void;
  /** A record that the importer can't read: it is counted, with the reason. The import goes on. */
  malformed(reason: string): void;
  /** Windows of the agent's plan as their provider has measured them. Of each window the latest one is kept. */
  plan(windows: readonly PlanWindow[]): void;
  /** Something that the user should know once, such as a hole that this file shows. */
  note(text: string): void;
  /** A part of a record that the importer doesn't know, such as a field: it is counted, and the rest of the record is read. */
  unknown(part: string): void;
}

/** The state of a reader after its last line, as JSON, from which the next import of the file goes on. */
export type ReaderState = unknown;

/** Reads a file line by line, in the order of its lines. */
export interface LineReader {
  /** Reads one line, without its line feed. May throw: the line counts as malformed. */
  line(text: string, sink: LogSink): void;
  /**
   * The file has ended for now. Calls that were held because more of them may follow are said here; they are said again, with
   * the same ref, once more of them is known.
   */
  end?(sink: LogSink): void;
  /** After the end, if the file ends within a line: the rest of a log is being written, that of an export is missing. */
  cut?(sink: LogSink): void;
  /** After any line, and after the end. */
  state(): ReaderState;
}

/** The other files below the roots of an importer, for what a log can't say without them. Reading them is slow. */
export interface OtherFiles {
  /**
   * Returns the text of a small file by its name below the root of the file that is read; undefined if it can't be read or has
   * more than 1 MiB.
   */
  text(name: string): string | undefined;
  /**
   * Reads the lines, with one of the markers, of the first log below any root whose name passes; undefined without such a log.
   */
  lines(has: (name: string) => boolean, markers: readonly string[]): Iterable<string> | undefined;
}

/** The rows of a SQLite log, opened read-only while its agent may have it open. */
export interface LogDatabase {
  /** Runs a SELECT; integers are numbers, or bigints beyond 2^53. */
  rows(sql: string, ...args: (string | number)[]): Iterable<Record<string, unknown>>;
  /** The names of the tables. */
  tables(): string[];
}

/** A kind of log file of an agent. */
export interface LogKind {
  /** Returns whether a file below a root is a log of this kind, by its name with `/` between the parts. */
  has(name: string): boolean;
  /**
   * `lines`: one record a line, read from where the last import has stopped; only lines that contain one of `markers`, texts of
   * ASCII, are decoded (all without them). A file that is `compressed` is read whole whenever it has changed.
   * `whole`: a document, read whole whenever it has changed.
   * `sqlite`: a database, asked whenever it has changed.
   */
  read:
    | {
      form: "lines";
      markers?: readonly string[];
      compressed?: "zstd";
      open(file: LogFile, state: ReaderState | undefined, others: OtherFiles): LineReader;
    }
    | {
      form: "whole";
      /** Returns the state for the next import of the document, if it needs one. */
      read(
        text: string,
        file: LogFile,
        sink: LogSink,
        others?: OtherFiles,
        state?: ReaderState,
      ): ReaderState | void;
    }
    | {
      form: "sqlite";
      /**
       * Yields after each row, so that its calls can be booked before the next one is read. Returns the state from which the next
       * import goes on, such as the time of the newest row.
       */
      read(
        db: LogDatabase,
        file: LogFile,
        state: ReaderState | undefined,
        sink: LogSink,
      ): Generator<void, ReaderState>;
    };
}

/** A request to the API of a tool. */
export interface RecordsRequest {
  /** Below the address of the tool. */
  path: string;
  query: Readonly<Record<string, string>>;
}

/** The API of a tool that has recorded calls of others, whose records are read in place of files. */
export interface RecordsApi {
  /** The environment variables with its key, the parts of which are joined by colons; a file has them so, too. */
  variables: readonly string[];
  /** For people: the kind of the key. */
  scope: string;
  headers(key: string): Record<string, string>;
  /**
   * Returns the requests for the calls of [from, to), each for the first of its pages: by the versions of the API, of which the first is
   * asked whose addresses are there.
   */
  requests(window: { from: number; to: number }): readonly (readonly RecordsRequest[])[];
  /**
   * Tells the calls of a page, in which numbers are texts. Returns the fields by which the request for the next page differs from the
   * first one; undefined after the last one.
   */
  read(answer: unknown, request: RecordsRequest, sink: LogSink): RecordsRequest["query"] | undefined;
}

/** Reads the logs of one agent. */
export interface LogImporter {
  contract: typeof IMPORTER_CONTRACT;
  /** Its name on the command line: `claude-code`. It is the agent of its calls, too. */
  name: string;
  /** The name of the agent for people: `Claude Code`. */
  title: string;
  /** The versions of the agent whose logs were seen. */
  seen: string;
  /** The calls that its logs leave out, a sentence each: its totals are lower bounds. Empty if they are complete. */
  holes: readonly string[];
  /** The folders in which the agent keeps logs, whether or not they exist; absolute. None for the exports of a tool. */
  roots(machine: Machine): readonly string[];
  /** The kinds of its files; the first that has a file reads it. */
  kinds: readonly LogKind[];
  /** The order in which files are read, where one has to be read before another; by default that of their names. */
  compare?(a: LogFile, b: LogFile): number;
  /** The API that has the same records as its files. */
  api?: RecordsApi;
}

/** Adds the version of the contract to an importer, and infers its types. */
export function defineImporter(importer: Omit<LogImporter, "contract">): LogImporter {
  return { contract: IMPORTER_CONTRACT, ...importer };
}

/** The argument of an importer's module, which needs no import but of types. */
export interface ImporterKit {
  defineImporter: typeof defineImporter;
  usageOf: typeof usageOf;
}

/** The default export of the module of an importer. */
export type ImporterModule = (kit: ImporterKit) => LogImporter | Promise<LogImporter>;
