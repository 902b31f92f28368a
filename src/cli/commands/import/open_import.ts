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
      const origin = { machine: machineName, importer: importer.name };
      let known = states.get(importer.name);
      if (!known) {
        known = isAgain ? new Map<string, KnownFile>() : await readFileStates(connection, origin);
        states.set(importer.name, known);
      }
      const books = createImportBooks(rehearsal ?? connection, origin);
      const isLarge = newBytesOf(found, known) >= THREAD_BYTES;
      const hasThread = isLarge && !rehearsal && connection.core?.store.isShared === true;
      await using thread = hasThread
        ? (await import("./book_thread.ts")).startBookThread(ctx, origin)
        : undefined;
      const context = {
        files: sync,
        clock: ctx.clock,
        projectOf,
        books: { ...books, ...thread && { book: thread.book } },
      };
      return await importLogs(context, found, {
        ...options,
        states: known,
        isPlan: isPlan || ctx.config.importPlans?.includes(importer.name),
      });
    },
    async [Symbol.asyncDispose]() {
      await rehearsal?.close();
    },
  };
}

/** The bytes to read from which another thread books the calls: it takes 0.2 s to start. */
const THREAD_BYTES = 32 * 1024 * 1024;

const newBytesOf = ({ logs }: FoundAgent["found"], known: ReadonlyMap<string, KnownFile>) =>
  logs.reduce((sum, { path, size }) => sum + Math.max(0, size - (known.get(path)?.readTo ?? 0)), 0);

/** Opens a ledger in memory with the prices of the settings. */
async function rehearse({ config, env, log, secrets }: CommandContext): Promise<Connection> {
  const { connect } = await import("../../../client/mod.ts");
  const local = { ...config, server: undefined, dbUrl: ":memory:", dbSource: undefined };
  return await connect({ config: local, env, log, secrets });
}
