import type { FilesSync } from "../../kernel/files/files.ts";
import type { OtherFiles } from "../logs/importer.ts";
import type { FoundLog } from "./find_logs.ts";
import { LineSplitter } from "./line_splitter.ts";

const MAX_TEXT_BYTES = 1024 * 1024;

/** Returns the other files of an importer, as the reader of `log` sees them. */
export function createOtherFiles(
  files: FilesSync,
  log: FoundLog,
  logs: readonly FoundLog[],
  maxLineBytes: number,
): OtherFiles {
  const root = log.path.slice(0, log.path.length - log.name.length);
  return {
    text(name) {
      try {
        const path = root + name;
        const { size, isFile } = files.stampOf(path);
        if (!isFile || size > MAX_TEXT_BYTES) return undefined;
        const parts: string[] = [];
        const decoder = new TextDecoder();
        for (const bytes of readPieces(files, path)) parts.push(decoder.decode(bytes, { stream: true }));
        return parts.join("") + decoder.decode();
      } catch {
        return undefined;
      }
    },
    lines(has, markers) {
      const other = logs.find(({ name }) => has(name));
      return other && readLines(files, other.path, markers, maxLineBytes);
    },
  };
}

function* readLines(
  files: FilesSync,
  path: string,
  markers: readonly string[],
  maxLineBytes: number,
): Generator<string> {
  let lines: string[] = [];
  const splitter = new LineSplitter({
    markers,
    maxLineBytes,
    onLine: (line) => void lines.push(line),
    onLongLine() {},
  });
  for (const bytes of readPieces(files, path)) {
    splitter.push(bytes);
    yield* lines;
    lines = [];
  }
}

/** Small enough that V8 frees the text of a piece at once. */
const PIECE_BYTES = 64 * 1024;

/** Reads a file from an offset on, in pieces of one memory that each next piece overwrites. */
export function* readPieces(files: FilesSync, path: string, offset = 0): Generator<Uint8Array> {
  const file = files.open(path, offset);
  try {
    const bytes = new Uint8Array(PIECE_BYTES);
    for (let count = file.read(bytes); count > 0; count = file.read(bytes)) yield bytes.subarray(0, count);
  } finally {
    file.close();
  }
}
