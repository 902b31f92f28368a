import { findLogs } from "../../../ingest/import/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import type { FoundAgent, ImportRequest } from "./import.ts";

/**
 * Finds the logs of agents; those without a log are left out.
 *
 * @throws {PurserError} `not_found` if an agent that is named has no log at a path that is given
 */
export async function findAgents(
  { importers, machine, path }: Pick<ImportRequest, "importers" | "machine" | "path">,
  isNamed: boolean,
): Promise<{ agents: FoundAgent[]; unreadable: { path: string; reason: string }[] }> {
  const sync = await files.loadFilesSync();
  const all = importers.map((importer) => ({ importer, found: findLogs(sync, importer, { machine, path }) }));
  const agents = all.filter(({ found }) => found.logs.length > 0);
  const missing = all.find(({ found }) => found.logs.length === 0);
  if (path !== undefined && missing && (isNamed || agents.length === 0)) {
    const of = isNamed ? missing.importer.title : "an agent";
    throw new PurserError("not_found", `Cannot import from ${path}: it has no log of ${of}`);
  }
  // What can't be read of an agent with logs is said after its import.
  const unreadable = all.filter(({ found }) => found.logs.length === 0).flatMap(({ found }) =>
    found.unreadable
  );
  return { agents, unreadable };
}
