import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../../../../contract/sessions.ts";
import { every } from "../../../hooks/clock.ts";
import { SessionLog } from "./session_log.ts";

/** The time between two requests for new events of a run in progress. */
const LIVE_MS = 2_000;

/** Returns the log of a session, and renders again with each page. It follows a run in progress. */
export function useLog({ session_id, event_log_count, restored_from, active_run_id }: Session): SessionLog {
  const isLive = active_run_id !== null;
  const [, render] = useState(0);
  const ref = useRef<SessionLog | undefined>(undefined);
  ref.current ??= new SessionLog(
    session_id,
    { events: event_log_count, hasImported: restored_from !== undefined },
    () => render((count) => count + 1),
  );
  const log = ref.current;
  useEffect(() => {
    log.more();
    return () => log.close();
  }, []);
  useEffect(() => (isLive ? every(LIVE_MS, () => log.more({ isLive })) : undefined), [isLive]);
  return log;
}
