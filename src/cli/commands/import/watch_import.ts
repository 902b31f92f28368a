import { findLogs, type ImportTally } from "../../../ingest/import/mod.ts";
import { MINUTE_MS, toIso } from "../../../kernel/clock.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { formatAmounts } from "../../render/format_cost.ts";
import { countOf } from "../../render/format_values.ts";
import type { ImportRequest } from "./import.ts";
import { type OpenImport, openImport } from "./open_import.ts";

/** A file to which nothing was written for so long holds no call that goes on. */
const IDLE_MS = MINUTE_MS;
/** The time between two looks at the files where the system doesn't say that they have changed, and the least between any two. */
const POLL_MS = 10_000;
const SETTLE_MS = 1_000;
/** The errors that a repetition meets again. */
const FINAL = new Set(["unauthorized", "forbidden", "invalid"]);

/** `purser import --watch`: imports what is written until it is interrupted; an error of the ledger is said, and tried again. */
export async function watchImport(ctx: CommandContext, request: ImportRequest): Promise<number> {
  const { clock, terminal: { interrupted } } = ctx;
  await using opened = await openImport(ctx, request, { isDryRun: false });
  if (!ctx.isJson) ctx.say("Watching; Ctrl-C ends it");
  const changes = await watchRoots(request, interrupted);
  let failure: string | undefined;
  while (!interrupted.aborted) {
    changes.clear();
    try {
      await importAll(ctx, request, opened);
      failure = undefined;
    } catch (error) {
      if (!(error instanceof PurserError) || FINAL.has(error.code)) throw error;
      const message = messageOf(error);
      if (message !== failure) ctx.warn(`${message}; trying again every ${POLL_MS / 1_000} s`);
      failure = message;
    }
    await Promise.race([changes.next(), clock.sleep(POLL_MS, interrupted)]);
    if (!interrupted.aborted) await clock.sleep(SETTLE_MS, interrupted);
  }
  return EXIT.interrupted;
}

/** Imports what is new of all agents, also of those that have come since. */
async function importAll(ctx: CommandContext, request: ImportRequest, opened: OpenImport): Promise<void> {
  const sync = await files.loadFilesSync();
  for (const importer of request.importers) {
    const found = findLogs(sync, importer, request);
    if (found.logs.length === 0) continue;
    const tally = await opened.importAgent({ importer, found }, { idleMs: IDLE_MS });
    if (tally.booked + tally.amended > 0) printNews(ctx, importer.title, tally);
  }
}

function printNews({ print, isJson, clock }: CommandContext, title: string, tally: ImportTally): void {
  const { booked, amended, costNanoUsd, planNanoUsd } = tally;
  const at = toIso(clock.now());
  if (isJson) return print(JSON.stringify({ at, agent: title, booked, amended }));
  const [cost] = formatAmounts([costNanoUsd < 0n ? -costNanoUsd : costNanoUsd]);
  const plan = planNanoUsd > 0n ? `, plan value ${formatAmounts([planNanoUsd])[0]}` : "";
  const more = plan + (amended > 0 ? `, ${countOf(amended, "call")} amended` : "");
  print(
    `${at.slice(11, 19)} ${title}: ${countOf(booked, "call")}, ${costNanoUsd < 0n ? "-" : ""}${cost}${more}`,
  );
}

interface Changes {
  /** Forgets what has changed until now. */
  clear(): void;
  /** Resolves once something has changed after `clear()`. */
  next(): Promise<void>;
}

/** Watches the folders of the agents, as far as the system can. */
async function watchRoots(
  { importers, machine, path }: ImportRequest,
  signal: AbortSignal,
): Promise<Changes> {
  let isChanged = false;
  let wake = () => {};
  const roots = path === undefined ? importers.flatMap((importer) => importer.roots(machine)) : [path];
  for (const root of new Set(roots)) {
    // Without events the files are looked at all the same.
    const isThere = await files.isFolder(root).catch(() => false);
    if (isThere) {
      void files.watch(root, () => {
        isChanged = true;
        wake();
      }, signal).catch(() => {});
    }
  }
  return {
    clear: () => void (isChanged = false),
    next: () => isChanged ? Promise.resolve() : new Promise((resolve) => wake = resolve),
  };
}
