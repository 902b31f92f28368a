import {
  createProjectNames,
  importLogs,
  type ImportOptions,
  type ImportTally,
  type KnownFile,
} from "../../../ingest/import/mod.ts";
import { files } from "../../../kernel/files/files.ts";
import type { Connection } from "../../../client/mod.ts";
import type { CommandContext } from "../../command.ts";
import { hostName } from "./host_name.ts";
import { createImportBooks, readFileStates } from "./import_books.ts";
import type { FoundAgent, ImportRequest } from "./import.ts";

/** An import in progress. */
export interface OpenImport extends AsyncDisposable {
  /** Imports what is new of an agent's logs. */
  importAgent(agent: FoundAgent, options: Omit<ImportOptions, "states">): Promise<ImportTally>;
}

/**
 * Opens the ledger for an import; for a dry run, one in memory, which then says what would be booked. With `isAgain`, logs are read
 * again that were imported before.
 */
export async function openImport(
  ctx: CommandContext,
  { machine, machineName, isPlan }: ImportRequest,
  { isDryRun, isAgain = false }: { isDryRun: boolean; isAgain?: boolean },
): Promise<OpenImport> {
  const sync = await files.loadFilesSync();
  const connection = await ctx.connect();
  const rehearsal = isDryRun ? await rehearse(ctx) : undefined;
  const projectOf = createProjectNames(sync, machine.home);
  /** By importer: they are read once, and kept up to date. */
  const states = new Map<string, Map<string, KnownFile>>();
  return {
    async importAgent({ importer, found }, options) {
      const env = machineName === await hostName() ? ctx.env : undefined;
      const origin = { machine: machineName, importer: importer.name, env };
      let known = states.get(importer.name);
      if (!known) {
        known = isAgain ? new Map<string, KnownFile>() : await readFileStates(connection, origin);
        states.set(importer.name, known);
      }
      const books = createImportBooks(rehearsal ?? connection, origin);
      try {
        return await importLogs({ files: sync, clock: ctx.clock, projectOf, books }, found, {
          ...options,
          states: known,
          isPlan: isPlan || ctx.config.importPlans?.includes(importer.name),
        });
      } finally {
        await books.ended();
      }
    },
    async [Symbol.asyncDispose]() {
      await rehearsal?.close();
    },
  };
}

/** Opens a ledger in memory with the prices of the settings. */
async function rehearse({ config, env, log, secrets }: CommandContext): Promise<Connection> {
  const { connect } = await import("../../../client/mod.ts");
  const local = { ...config, server: undefined, dbUrl: ":memory:", dbSource: undefined };
  return await connect({ config: local, env, log, secrets });
}
