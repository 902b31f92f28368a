import type { Logic } from "./logic.ts";

/*
 * INSERT OR REPLACE deletes without a DELETE trigger, unless the connection has `recursive_triggers`, as those to files
 * have. A server does not take that PRAGMA, so there each row is looked for before it is inserted. An id that is yet to be
 * given is -1 in such a trigger.
 */
export const appendOnlyLogic: readonly Logic[] = [
  {
    name: "events_refuse_replace",
    only: "remote",
    sql: `CREATE TRIGGER events_refuse_replace BEFORE INSERT ON events
WHEN NEW.event_id <> -1 AND EXISTS (SELECT 1 FROM events WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END`,
  },
  {
    name: "calls_refuse_replace",
    only: "remote",
    sql: `CREATE TRIGGER calls_refuse_replace BEFORE INSERT ON calls
WHEN NEW.position <> -1 AND EXISTS (SELECT 1 FROM calls WHERE position = NEW.position)
  OR EXISTS (SELECT 1 FROM calls WHERE call_id = NEW.call_id)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,
  },
];
