import { useRoute } from "../../hooks/route.ts";
import { SessionList } from "./session_list.tsx";
import { SessionPage } from "./session_page.tsx";

/** The sessions, and the page of one: `/ui/sessions/ses_1`. */
export function SessionsView() {
  const sessionId = useRoute().parts[1];
  return sessionId === undefined ? <SessionList /> : <SessionPage key={sessionId} sessionId={sessionId} />;
}
