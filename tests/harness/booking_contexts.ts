import type { Clock } from "../../src/kernel/clock.ts";
import { createBooking, type TestBooking } from "./booking.ts";
import type { DatabaseKind, TestDatabase } from "./databases.ts";

/** The number of the contexts. */
export const CONNECTIONS = 3;

/** Opens the contexts of several processes; none has read the rules that others add. */
export async function openContexts(
  kind: DatabaseKind,
  database: TestDatabase,
  clock: Clock,
): Promise<TestBooking[]> {
  const contexts: TestBooking[] = [];
  for (let i = 0; i < CONNECTIONS; i++) {
    // A database in memory has one connection: its contexts are those of one process.
    const store = kind.name === "memory" && i > 0
      ? contexts[0]!.store
      : await database.open({ clock, isMigrated: i === 0 });
    contexts.push({ ...await createBooking(store, { clock }), rules: { mayExist: false } });
  }
  return contexts;
}
