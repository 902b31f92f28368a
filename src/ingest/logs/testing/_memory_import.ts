import { zstdDecompressSync } from "node:zlib";
import { DatabaseSync } from "node:sqlite";
import type { Sighting } from "../../../calls/mod.ts";
import { faultOfSighting } from "../sighting_fault.ts";
import type { LogFile, LogImporter, LogKind, LogSink, OtherFiles, ReaderState } from "../importer.ts";

/** The home folder of tests, in which the logs of their fixtures lie. */
export const HOME = "/home/dev";

/** Files by absolute path. The text of a database is the SQL that makes it. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** The content of logs, in the order in which it was read. */
export interface LogContent {
  calls: Sighting[];
  /** The file of each call, and its ref. */
  told: string[];
  unmetered: string[];
  malformed: string[];
  notes: string[];
  unknown: string[];
}

/** An import in memory: it reads only that part of a file that is new, and goes on from the state that it has of it. */
export interface MemoryImport {
  /** Reads what is new in the files; by default in the order of the importer. */
  read(files: Files, order?: (files: LogFile[]) => LogFile[]): LogContent;
}

/** Imports as `purser import` does, but for files and database: states go through JSON. */
export function createMemoryImport(importer: LogImporter): MemoryImport {
  const known = new Map<string, { end: number; text: string; state?: string }>();
  const roots = rootsOf(importer);
  return {
    read(files, order = (all) => inOrder(importer, all)) {
      const content: LogContent = {
        calls: [],
        told: [],
        unmetered: [],
        malformed: [],
        notes: [],
        unknown: [],
      };
      let path = "";
      const sink: LogSink = {
        call: (call) => {
          const fault = faultOfSighting(call);
          if (fault !== undefined) return sink.malformed(fault);
          content.calls.push(JSON.parse(JSON.stringify(call)));
          content.told.push(`${path} ${call.ref}`);
        },
        unmetered: (reason) => content.unmetered.push(reason),
        malformed: (reason) => content.malformed.push(reason),
        plan() {},
        note: (text) => content.notes.push(text),
        unknown: (part) => content.unknown.push(part),
      };
      for (const file of order(logsOf(importer, roots, files))) {
        path = file.path;
        const { read } = importer.kinds.find(({ has }) => has(file.name))!;
        const bytes = files.get(file.path)!;
        const before = known.get(file.path);
        const others = otherFiles(importer, roots, files, file);
        const guarded = (run: () => void) => {
          try {
            run();
          } catch (error) {
            sink.malformed(String(error));
          }
        };
        if (read.form === "lines") {
          const isWhole = read.compressed === undefined;
          const text = isWhole ? decode(bytes) : decode(zstdDecompressSync(bytes));
          const end = isWhole ? text.lastIndexOf("\n") + 1 : text.length;
          const goesOn = isWhole && before !== undefined && before.end <= end &&
            text.startsWith(before.text.slice(0, before.end));
          if (goesOn ? before.end === end : before?.text === text) continue;
          const state = goesOn ? before.state : undefined;
          const reader = read.open(file, state === undefined ? undefined : JSON.parse(state), others);
          for (const line of linesOf(text.slice(goesOn ? before.end : 0, end), read.markers)) {
            guarded(() => reader.line(line, sink));
          }
          reader.end?.(sink);
          known.set(file.path, { end, text, state: JSON.stringify(reader.state()) });
        } else {
          const text = decode(bytes);
          if (before?.text === text) continue;
          let state: ReaderState | undefined;
          guarded(() => {
            const last = before?.state && JSON.parse(before.state);
            if (read.form === "whole") state = read.read(text, file, sink, others, last) ?? undefined;
            else state = readDatabase(read, text, file, last, sink);
          });
          known.set(file.path, { end: text.length, text, state: JSON.stringify(state) });
        }
      }
      return content;
    },
  };
}

/** Returns the folders of an importer in tests: of the exports of a tool, which are anywhere, the home folder. */
export function rootsOf(importer: LogImporter): readonly string[] {
  const roots = importer.roots({ os: "linux", home: HOME, env: () => undefined });
  return roots.length > 0 ? roots : [HOME];
}

function readDatabase(
  read: Extract<LogKind["read"], { form: "sqlite" }>,
  sql: string,
  file: LogFile,
  state: ReaderState | undefined,
  sink: LogSink,
): ReaderState {
  const database = new DatabaseSync(":memory:");
  try {
    database.exec(sql);
    const rows = (text: string, ...args: (string | number)[]) =>
      database.prepare(text).all(...args) as Record<string, unknown>[];
    const tables = () =>
      rows("SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => String(name));
    const reading = read.read({ rows, tables }, file, state, sink);
    for (;;) {
      const { done, value } = reading.next();
      if (done) return value;
    }
  } finally {
    database.close();
  }
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function* linesOf(text: string, markers: readonly string[] | undefined): Iterable<string> {
  for (const line of text.split("\n")) {
    if (line !== "" && (markers === undefined || markers.some((marker) => line.includes(marker)))) yield line;
  }
}

/** Returns the logs among some files, each with the root that has it. */
export function logsOf(importer: LogImporter, roots: readonly string[], files: Files): LogFile[] {
  return [...files.keys()].flatMap((path) => {
    const root = roots.find((one) => path.startsWith(`${one}/`));
    if (root === undefined) return [];
    const name = path.slice(root.length + 1);
    return importer.kinds.some(({ has }) => has(name)) ? [{ path, name }] : [];
  });
}

function inOrder({ compare }: LogImporter, files: LogFile[]): LogFile[] {
  return files.sort((a, b) => compare?.(a, b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function otherFiles(
  importer: LogImporter,
  roots: readonly string[],
  files: Files,
  file: LogFile,
): OtherFiles {
  const root = file.path.slice(0, -file.name.length);
  return {
    text(name) {
      const bytes = files.get(root + name);
      return bytes && decode(bytes);
    },
    lines(has, markers) {
      const found = inOrder(importer, logsOf(importer, roots, files)).find(({ name }) => has(name));
      if (found === undefined) return undefined;
      const bytes = files.get(found.path)!;
      return linesOf(decode(found.path.endsWith(".zst") ? zstdDecompressSync(bytes) : bytes), markers);
    },
  };
}
