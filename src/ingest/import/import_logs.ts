import type { Sighting } from "../../calls/mod.ts";
import { MAX_IMPORT_FILES, MAX_SIGHTINGS } from "../../contract/limits.ts";
import { type Clock, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { PlanWindow } from "../../plans/sources/mod.ts";
import type { FilesSync } from "../../kernel/files/files.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import type { LogSink } from "../logs/importer.ts";
import { faultOfSighting } from "../logs/sighting_fault.ts";
import type { FoundLog, FoundLogs, Unreadable } from "./find_logs.ts";
import { createOtherFiles } from "./other_files.ts";
import { type FileState, MAX_LINE_BYTES, readLog } from "./read_log.ts";

/** A file as the ledger knows it after its last import. */
export interface KnownFile extends FileState {
  /** The records that were left out, each as often as it was read. */
  unmetered: number;
  malformed: number;
  /** The reason for which it could not be read the last time; null if it was. */
  fault: string | null;
}

/** The state of a file or a folder that could never be read: it has no size, so that it is read once it can be. */
const UNREAD = {
  size: 0,
  modifiedAt: 0,
  readTo: 0,
  head: "",
  isEnded: true,
  state: null,
  unmetered: 0,
  malformed: 0,
};

/** The ledger, as the import of one agent's logs sees it. */
export interface ImportBooks {
  /** Books at most `MAX_SIGHTINGS` sightings, or adds them to the calls that they are of. Throws what is no fault of a sighting. */
  book(sightings: readonly Sighting[]): Promise<BookedSightings>;
  /** Records windows of the agent's plan. */
  recordPlan(windows: readonly PlanWindow[]): Promise<void>;
  /** Stores how far at most `MAX_IMPORT_FILES` files have been read. */
  save(states: readonly KnownFile[]): Promise<void>;
}

/** The outcome of sightings. */
export interface BookedSightings {
  /** Calls that no one has said before. */
  booked: number;
  /** Sightings of calls that are in the ledger. */
  known: number;
  /** Of those, the calls whose counts were corrected. */
  amended: number;
  /** Those whose counts contradict a better witness, which stands. */
  conflicts: number;
  unpriced: number;
  /** The cost of what was booked and amended, in nano-USD. */
  costNanoUsd: bigint;
  /** The same of what plans pay for. */
  planNanoUsd: bigint;
  /** The reasons of sightings that were refused. */
  refused: readonly string[];
}

/** The outcome of an import of one agent's logs. */
export interface ImportTally extends Omit<BookedSightings, "refused"> {
  files: number;
  bytes: number;
  /** The files that have changed since their last import. */
  changedFiles: number;
  /** Model calls without usage. */
  unmetered: number;
  malformed: number;
  /** Calls before the time since which calls are imported. */
  before: number;
  /** Calls more than five minutes ahead of the clock. */
  ahead: number;
  unreadable: Unreadable[];
  /** The first records of each kind that were left out. */
  faults: { path: string; reason: string }[];
  notes: string[];
  /** The parts of records that no importer knows, with their number. */
  unknown: Record<string, number>;
}

/** The parts that `importLogs` needs. */
export interface ImportContext {
  files: FilesSync;
  clock: Clock;
  books: ImportBooks;
  /** Names the project of a working directory. */
  projectOf(folder: string): string | undefined;
}

export interface ImportOptions {
  /** The states of files after their last import, by path; kept up to date. */
  states: Map<string, KnownFile>;
  /** Calls before it are left out. Milliseconds since the epoch. */
  since?: number | undefined;
  /** True if a plan pays for all of the calls, also where the log doesn't say so. */
  isPlan?: boolean | undefined;
  /** Calls that may go on are held until nothing was written for so long. */
  idleMs?: number | undefined;
  /** Called after each file. */
  onFile?(doneBytes: number): void;
}

/** The sightings that are booked at once: most parts of a file have few enough that the rest fits into the same request. */
const ENOUGH = 850;
/** The clocks of machines differ; the ledger takes no call that is further ahead. */
const MAX_AHEAD_MS = 5 * MINUTE_MS;
/** The sets after which the states of their files are stored, by a commit that waits for the disk: what follows is read again. */
const SETS_OF_SAVE = 10;
const MAX_FAULTS = 100;
const MAX_NOTES = 20;
/** As many as one report may have. */
const MAX_PLAN_WINDOWS = 32;
/** The characters of a reason that are kept. */
const MAX_FAULT = 200;

/** Imports what the logs of an agent have had since their last import. May be repeated at any time: a call is booked once. */
export async function importLogs(
  ctx: ImportContext,
  { roots, logs, unreadable }: FoundLogs,
  { states, since = -Infinity, isPlan, idleMs, onFile }: ImportOptions,
): Promise<ImportTally> {
  const { files, clock, books } = ctx;
  const tally: ImportTally = {
    files: logs.length,
    bytes: logs.reduce((sum, { size }) => sum + size, 0),
    changedFiles: 0,
    booked: 0,
    known: 0,
    amended: 0,
    conflicts: 0,
    unpriced: 0,
    costNanoUsd: 0n,
    planNanoUsd: 0n,
    unmetered: 0,
    malformed: 0,
    before: 0,
    ahead: 0,
    unreadable: [...unreadable],
    faults: [],
    notes: [],
    unknown: {},
  };
  let sightings: Sighting[] = [];
  const changed = new Map<string, KnownFile>();
  /** The latest measurement of each window of the agent's plan. */
  const plan = new Map<string, PlanWindow>();
  /** The set that is being booked. */
  let booking = Promise.resolve();
  let sets = 0;

  /** Books what was read; the next logs are read meanwhile. Throws what the set before it has met. */
  async function flush({ isLast = false } = {}): Promise<void> {
    const isSaved = isLast || ++sets % SETS_OF_SAVE === 0 || changed.size >= MAX_IMPORT_FILES;
    const [said, states, windows] = [sightings, isSaved ? [...changed.values()] : [], [...plan.values()]];
    sightings = [];
    if (isSaved) changed.clear();
    plan.clear();
    await booking;
    booking = commit(said, states, windows);
    booking.catch(() => {}); // thrown by the next set
  }

  async function commit(
    said: readonly Sighting[],
    changed: readonly KnownFile[],
    windows: readonly PlanWindow[],
  ): Promise<void> {
    if (windows.length > 0) await books.recordPlan(windows);
    for (let at = 0; at < said.length; at += MAX_SIGHTINGS) {
      const { refused, ...booked } = await books.book(said.slice(at, at + MAX_SIGHTINGS));
      for (const name of ["booked", "known", "amended", "conflicts", "unpriced"] as const) {
        tally[name] += booked[name];
      }
      for (const name of ["costNanoUsd", "planNanoUsd"] as const) tally[name] += booked[name];
      for (const reason of refused) leaveOut("malformed", "", reason);
    }
    // After the sightings: what is repeated is known, what is left out is lost.
    for (let at = 0; at < changed.length; at += MAX_IMPORT_FILES) {
      await books.save(changed.slice(at, at + MAX_IMPORT_FILES));
    }
    for (const state of changed) states.set(state.path, state);
  }

  function leaveOut(kind: "unmetered" | "malformed", path: string, reason: string): void {
    tally[kind]++;
    if (tally.faults.length < MAX_FAULTS) tally.faults.push({ path, reason });
  }

  /** Keeps which files can't be read, and forgets it of those below the roots that can, or are gone. */
  function noteUnreadable(): void {
    const faults = new Map(tally.unreadable.map(({ path, reason }) => [path, reason.slice(0, MAX_FAULT)]));
    const seen = [...states.keys()].filter((path) => roots.some((root) => `${path}/`.startsWith(`${root}/`)));
    for (const path of new Set([...seen, ...faults.keys()])) {
      const known = changed.get(path) ?? states.get(path);
      const fault = faults.get(path) ?? null;
      if (fault !== (known?.fault ?? null)) changed.set(path, { ...UNREAD, path, ...known, fault });
    }
  }

  async function importLog(log: FoundLog, before: KnownFile | undefined, isEnded: boolean): Promise<void> {
    const left = { unmetered: before?.unmetered ?? 0, malformed: before?.malformed ?? 0, fault: null };
    // A file with calls that were left out is read again, as far as they go.
    let isWhole = true;
    const limit = clock.now() + MAX_AHEAD_MS;
    const sink: LogSink = {
      call(sighting) {
        const fault = faultOfSighting(sighting);
        if (fault !== undefined) return sink.malformed(fault);
        const { at, quality, folder } = sighting;
        if (at >= since && at <= limit && (isEnded || quality !== "provisional")) {
          const project = folder === undefined ? undefined : ctx.projectOf(folder);
          const said = project === undefined
            ? sighting
            : { ...sighting, tags: { project, ...sighting.tags } };
          sightings.push(isPlan ? { ...said, isPlan } : said);
          return;
        }
        isWhole = false;
        if (at < since) tally.before++;
        if (at > limit) tally.ahead++;
      },
      unmetered(reason) {
        left.unmetered++;
        leaveOut("unmetered", log.path, reason);
      },
      malformed(reason) {
        left.malformed++;
        leaveOut("malformed", log.path, reason);
      },
      plan(windows) {
        for (const window of windows) {
          const known = plan.get(window.window);
          const isOlder = (window.measuredAt ?? 0) < (known?.measuredAt ?? 0);
          if (!isOlder && (known || plan.size < MAX_PLAN_WINDOWS)) plan.set(window.window, window);
        }
      },
      note(text) {
        if (tally.notes.length < MAX_NOTES && !tally.notes.includes(text)) tally.notes.push(text);
      },
      unknown(part) {
        const { unknown } = tally;
        const name = Object.hasOwn(unknown, part) || Object.keys(unknown).length < MAX_NOTES
          ? part
          : "others";
        unknown[name] = (unknown[name] ?? 0) + 1;
      },
    };
    const others = createOtherFiles(files, log, logs, MAX_LINE_BYTES);
    for await (const state of readLog(log, { files, others, sink, before, isEnded, sleep: clock.sleep })) {
      if (state && isWhole) changed.set(log.path, { ...state, ...left });
      if (sightings.length >= ENOUGH || changed.size >= MAX_IMPORT_FILES) await flush();
    }
  }

  let doneBytes = 0;
  // By time, as the indexes are: the calls of a set are neighbours in them.
  for (const log of logs.toSorted((a, b) => a.modifiedAt - b.modifiedAt)) {
    doneBytes += log.size;
    const before = states.get(log.path);
    const isEnded = idleMs === undefined || clock.now() - log.modifiedAt >= idleMs;
    const isSame = before?.size === log.size && before.modifiedAt === log.modifiedAt;
    if (isSame && (before.isEnded || !isEnded)) continue;
    tally.changedFiles++;
    try {
      await importLog(log, before, isEnded);
    } catch (error) {
      if (error instanceof PurserError) throw error;
      tally.unreadable.push({ path: log.path, reason: systemReason(error) });
    }
    onFile?.(doneBytes);
  }
  await booking;
  noteUnreadable();
  await flush({ isLast: true });
  await booking;
  return tally;
}
