import { isRecord } from "../../../kernel/records.ts";
import { files } from "../../../kernel/files/files.ts";
import type { Figures } from "./figures.ts";

/** The figures of a session that are kept beside the default database, for the next line. */
export interface Kept {
  /** The server or the database that the figures are of. */
  target: string;
  figures: Figures | undefined;
  /** The time of the figures, in milliseconds since the epoch. */
  at: number;
  /** The `rate_limits` of Claude Code's last input. */
  limits: unknown;
  /** The state of log and limits by the last work in the background that has ended. */
  done: string | undefined;
  /** That by which the last one was begun, and the time of it. */
  begun: string | undefined;
  begunAt: number;
}

/** Returns the path of the file of a session. Its name is made of any text. */
export function pathOfKept(folder: string, sessionId: string | undefined): string {
  const name = (sessionId ?? "none").replaceAll(/[^\w-]/g, "_").slice(0, 80);
  return `${folder}/${name}.json`;
}

/** Reads what is kept of a session for a target. */
export async function readKept(path: string, target: string): Promise<Kept> {
  const none = {
    target,
    figures: undefined,
    at: 0,
    limits: null,
    done: undefined,
    begun: undefined,
    begunAt: 0,
  };
  try {
    const kept: unknown = JSON.parse(await files.readText(path));
    return isRecord(kept) && kept.target === target ? { ...none, ...kept } : none;
  } catch {
    return none;
  }
}

/** Keeps it; a folder that can't be written to is no fault of a status line. */
export async function writeKept(folder: string, path: string, kept: Kept): Promise<void> {
  const draft = `${path}.${crypto.randomUUID()}`;
  try {
    await files.makeFolder(folder);
    await files.writeNew(draft, JSON.stringify(kept));
    await files.rename(draft, path);
  } catch {
    await files.remove(draft).catch(() => {});
  }
}

/** Returns the state of a log and of limits: another one once there is something to import. */
export async function stateOf(log: string, limits: unknown): Promise<string> {
  const stamp = await files.stampOf(log);
  return `${stamp?.size}:${stamp?.modifiedAt} ${JSON.stringify(limits)}`;
}

/** Removes the files of sessions of long ago. */
export async function sweepKept(folder: string, before: number): Promise<void> {
  for (const name of await files.list(folder).catch(() => [])) {
    const stamp = await files.stampOf(`${folder}/${name}`);
    if (name.includes(".json") && stamp && stamp.modifiedAt < before) {
      await files.remove(`${folder}/${name}`).catch(() => {});
    }
  }
}
