import { loadConfig } from "../../../config/mod.ts";
import { DAY_MS } from "../../../kernel/clock.ts";
import { silentLog } from "../../../kernel/log.ts";
import { files } from "../../../kernel/files/files.ts";
import { createInstanceLocks } from "../../../store/mod.ts";
import type { BareContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { openConnection } from "../../run_command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { fetchFigures } from "./figures.ts";
import { pathOfKept, readKept, sweepKept, writeKept } from "./kept_figures.ts";
import {
  folderOfKept,
  optionsOfTarget,
  readSettings,
  stateOfLog,
  targetArguments,
  targetOf,
} from "./run_status_line.ts";

/** The time for which the figures of a session are kept. */
const KEPT_MS = 7 * DAY_MS;

/**
 * `purser statusline --refresh LOG`: imports the logs beside that of a session, with those of its sub-agents, reads its figures and keeps
 * them. One process of a user does so at a time; it prints nothing.
 */
export async function refreshFigures(ctx: BareContext, log: string): Promise<number> {
  const { env, options, clock } = ctx;
  const folder = folderOfKept(env);
  const sessionId = /([^/\\]+)\.jsonl$/.exec(log)?.[1];
  if (folder === undefined || sessionId === undefined) return EXIT.failed;
  await files.makeFolder(folder);
  const locks = await createInstanceLocks(`${folder}/refresh`);
  if (!await locks.hold("statusline")) return EXIT.failed;
  try {
    const settings = await readSettings(ctx);
    const path = pathOfKept(folder, sessionId);
    const state = await stateOfLog(log);
    const isImported = await importLogs(ctx, log.replace(/[/\\][^/\\]+$/, ""));
    const config = await loadConfig({ env, options: optionsOfTarget(options) });
    const connection = await openConnection(undefined, { config, env, log: silentLog, isReadOnly: true });
    try {
      const get = async (path: string) => {
        const response = await connection.send(new Request(`http://purser.invalid${path}`));
        if (!response.ok) throw new Error(`the server answered ${response.status}`);
        return await response.json();
      };
      const figures = await fetchFigures(get, { sessionId, now: clock.now() });
      const kept = await readKept(path, targetOf(settings));
      await writeKept(folder, path, {
        ...kept,
        figures,
        at: clock.now(),
        ...(isImported && { log: state }),
      });
    } finally {
      await connection.close();
    }
    await sweepKept(folder, clock.now() - KEPT_MS);
    return EXIT.done;
  } finally {
    await locks.close();
  }
}

/** Imports the logs in a folder as `purser import` does. */
async function importLogs({ terminal, env, options }: BareContext, folder: string): Promise<boolean> {
  const { main } = await import("../../mod.ts");
  const output = { ...terminal.stdout, write: () => {}, isTerminal: false };
  const silent: Terminal = { ...terminal, stdout: output, stderr: output, interrupted: terminal.interrupted };
  const args = ["import", "claude-code", `--path=${folder}`, ...targetArguments(options)];
  return await main(args, { terminal: silent, env }) === EXIT.done;
}
