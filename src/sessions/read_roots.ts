import type { Store } from "../store/mod.ts";

const READ = `SELECT r.run_id, coalesce(root.session_id, r.session_id) FROM json_each(?1) j
JOIN runs r ON r.run_id = j.value LEFT JOIN runs root ON root.run_id = r.root_run_id`;

/** Returns the sessions at the roots of the trees of runs, by the ids of the runs; those that are no runs here have none. */
export async function readRootsOfRuns(
  { store }: { store: Pick<Store, "read"> },
  runIds: readonly string[],
): Promise<Map<string, string>> {
  if (runIds.length === 0) return new Map();
  const { rows } = await store.read({ sql: READ, args: [JSON.stringify(runIds)] });
  return new Map(rows as [string, string][]);
}
