/**
 * The program of all worker processes: the first argument names one. It is bundled once for all of them
 * (`tests/harness/shared_build.ts`).
 */

// Its changes to zod come first: the bundler may put what depends on them into a chunk that is loaded before.
import "@hono/zod-openapi";

const WORKERS = {
  alert: () => import("./alert_worker.ts"),
  books: () => import("./books_worker.ts"),
  budget: () => import("./budget_worker.ts"),
  budget_calls: () => import("./budget_calls_worker.ts"),
  metering_crash: () => import("./metering_crash_worker.ts"),
  snapshot_crash: () => import("./snapshot_crash_worker.ts"),
  spool: () => import("./spool_worker.ts"),
};

/** The name of a worker. */
export type WorkerName = keyof typeof WORKERS;

if (import.meta.main) {
  const [name, ...args] = Deno.args;
  const { work } = await WORKERS[name as WorkerName]();
  await work(...args as [string, string, string, string, string]);
}
