import type { FilesSync } from "../../kernel/files/files.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import type { LogFile, LogImporter, LogKind, LogSink, Machine, ReaderState } from "../logs/importer.ts";
import { stampOfDatabase } from "./sqlite_log.ts";

/** A log that was found. */
export interface FoundLog extends LogFile {
  kind: { read: LogKind["read"] | ApiPages };
  size: number;
  /** Milliseconds since the epoch. */
  modifiedAt: number;
}

/** The records of an API. Yields after each page the state from which the next import goes on. */
export interface ApiPages {
  form: "pages";
  pages(state: ReaderState, sink: LogSink): AsyncIterable<{ state: ReaderState; isEnded: boolean }>;
}

/** The logs of an agent on a machine. */
export interface FoundLogs {
  /** The folders that exist. */
  roots: readonly string[];
  /** In the order in which they are read. */
  logs: readonly FoundLog[];
  /** The folders and files that can't be read. */
  unreadable: readonly Unreadable[];
}

export interface Unreadable {
  path: string;
  reason: string;
}

/**
 * Finds the logs of an agent below its own folders, or at a path in their place. `above` is the number of folders, a path's own
 * included, with which the names of its files begin.
 */
export function findLogs(
  files: FilesSync,
  importer: LogImporter,
  { machine, path, above = 0 }: { machine: Machine; path?: string | undefined; above?: number },
): FoundLogs {
  const found: FoundLog[] = [];
  const roots: string[] = [];
  const unreadable: Unreadable[] = [];
  const visited = new Set<string>();

  function add(path: string, name: string): void {
    const kind = importer.kinds.find((kind) => kind.has(name));
    if (!kind) return;
    attempt(path, () => {
      const stamp = files.stampOf(path);
      if (!stamp.isFile) return; // a pipe would be waited for
      const { size, modifiedAt } = kind.read.form === "sqlite" ? stampOfDatabase(files, path) : stamp;
      found.push({ path, name, kind, size, modifiedAt });
    });
  }

  /** Visits a folder, unless it was visited: symbolic links can lead back to it. `real` is its path without links. */
  function visit(folder: string, name: string, real: string): void {
    if (visited.has(real)) return;
    visited.add(real);
    attempt(folder, () => {
      for (const entry of files.entriesOf(folder)) {
        const path = `${folder}/${entry.name}`;
        const nameOf = name + entry.name;
        if (entry.isFolder) visit(path, `${nameOf}/`, `${real}/${entry.name}`);
        else if (!entry.isLink) add(path, nameOf);
        else {
          attempt(path, () => {
            if (files.stampOf(path).isFolder) visit(path, `${nameOf}/`, files.realPath(path));
            else add(path, nameOf);
          });
        }
      }
    });
  }

  /** Counts what can't be read, and goes on; what vanishes in the meantime is nothing. */
  function attempt(path: string, read: () => void): void {
    try {
      read();
    } catch (error) {
      const reason = systemReason(error);
      if (!isGone(reason)) unreadable.push({ path, reason });
    }
  }

  for (const root of path === undefined ? importer.roots(machine) : [path]) {
    attempt(root, () => {
      const folder = root.replace(/(?<=.)[\\/]+$/, "");
      const { isFolder } = files.stampOf(folder);
      roots.push(folder);
      const name = above === 0 ? "" : `${namesOf(folder)[above - 1]}/`;
      if (isFolder) visit(folder, name, files.realPath(folder));
      else {for (const name of namesOf(folder)) {
          if (importer.kinds.some((kind) => kind.has(name))) return add(folder, name);
        }}
    });
  }
  const compare = importer.compare ?? ((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { roots, logs: found.sort(compare), unreadable };
}

const isGone = (reason: string) => reason === "no such file or directory";

/** Returns the names that a file has below each of the folders above it, the shortest first. */
function namesOf(path: string): string[] {
  const parts = path.split(/[\\/]/);
  return parts.map((_, index) => parts.slice(-1 - index).join("/"));
}
