import type { Connection } from "../../../client/mod.ts";
import { currentPlatform } from "../../../config/mod.ts";
import {
  createProjectNames,
  findLogs,
  type FoundLogs,
  importLogs,
  type KnownFile,
} from "../../../ingest/import/mod.ts";
import { loadImporters, type LogImporter, type Machine } from "../../../ingest/logs/mod.ts";
import { listImportFiles } from "../../../ingest/import_files/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import type { Core } from "../../../service/mod.ts";
import type { CommandContext } from "../../command.ts";
import { hostName } from "../import/host_name.ts";
import { createImportBooks, stateFromWire } from "../import/import_books.ts";
import type { HookInput } from "./hook_input.ts";
import type { AgentHooks } from "./hooks/agent_hooks.ts";

/** The logs of a session and of its sub-agents. */
export interface SessionLogs {
  importer: LogImporter;
  found: FoundLogs;
  machine: Machine;
  machineName: string;
}

/** Finds the logs of a session; there may be none yet. */
export async function findSessionLogs(
  { env, clock }: Pick<CommandContext, "env" | "clock">,
  hooks: AgentHooks,
  { transcript, session }: Pick<HookInput, "session"> & { transcript: string },
): Promise<SessionLogs> {
  const home = env.HOME || env.USERPROFILE || "/";
  const machine: Machine = { os: currentPlatform(), home, env: (name) => env[name] || undefined };
  const [importer] = await loadImporters({ names: [hooks.agentId], plugins: [] });
  const sync = await files.loadFilesSync();
  const places = hooks.logsOf({ transcript, session: session ?? "", now: clock.now() });
  const parts = places.map((path) => findLogs(sync, importer!, { machine, path, above: 2 }));
  const found = {
    roots: parts.flatMap(({ roots }) => roots),
    logs: parts.flatMap(({ logs }) => logs),
    unreadable: parts.flatMap(({ unreadable }) => unreadable),
  };
  return { importer: importer!, found, machine, machineName: await hostName() };
}

const PAGE = 500;

/** Reads how far the logs of a session have been imported into the database of this process. */
export async function readSessionStates(
  core: Core,
  { importer, found, machineName }: SessionLogs,
): Promise<Map<string, KnownFile>> {
  const states = new Map<string, KnownFile>();
  const from = { machine: machineName, importer: importer.name };
  for (const root of found.roots) {
    // The paths below a root follow it, in their order.
    for (let after = root.slice(0, -1), isLast = false; !isLast;) {
      const page = await listImportFiles(core, from, { after, limit: PAGE });
      const own = page.filter(({ path }) => path.startsWith(root));
      for (const file of own) states.set(file.path, stateFromWire(file));
      after = page.at(-1)?.path ?? after;
      isLast = page.length < PAGE || (after > root && !after.startsWith(root));
    }
  }
  return states;
}

/**
 * Books what is new of the logs of a session, as every import does, and keeps `states` up to date, in the ledger too if `isSaved`.
 *
 * @throws {PurserError} `unavailable` if one of them can't be read
 */
export async function importSession(
  { clock, config, env }: Pick<CommandContext, "clock" | "config" | "env">,
  connection: Connection,
  { importer, found, machine, machineName }: SessionLogs,
  states: Map<string, KnownFile>,
  { isSaved = true }: { isSaved?: boolean } = {},
): Promise<void> {
  const sync = await files.loadFilesSync();
  const books = createImportBooks(connection, { machine: machineName, importer: importer.name, env });
  const context = {
    files: sync,
    clock,
    projectOf: createProjectNames(sync, machine.home),
    books: isSaved ? books : { ...books, save: () => Promise.resolve() },
  };
  const isPlan = config.importPlans?.includes(importer.name);
  try {
    const { unreadable: [bad] } = await importLogs(context, found, { states, isPlan });
    if (bad) throw new PurserError("unavailable", `Cannot read ${bad.path}: ${bad.reason}`);
  } finally {
    await books.ended();
  }
}
