import { useEffect, useState } from "preact/hooks";
import type { OtherKey, WebSession } from "../../contract/web_sessions.ts";
import { escapeText } from "../../kernel/text.ts";
import { forgetAnswers } from "../hooks/data.ts";
import { request, type RequestError } from "../hooks/request.ts";
import { AccessContext, allowsScope, keepToken, listenForSignOut } from "../hooks/session.ts";
import { Banner } from "../parts/card.tsx";
import { Dialogs } from "../parts/confirm.tsx";
import { Toasts } from "../parts/toast.tsx";
import { Frame } from "./frame.tsx";
import { SignIn, signIn, SwitchKey } from "./sign_in.tsx";

const EXPIRED = "The session has ended: it expired, or its API key was revoked. Sign in again to continue.";
const USED =
  "The link can't be used any more: it works once, within a minute. Make a new one with purser dashboard.";

/** The dashboard: reads the session first, then shows the sign-in or the pages. */
export function App() {
  const [session, setSession] = useState<WebSession>();
  const [reason, setReason] = useState<string>();
  const [error, setError] = useState<string>();
  const [question, setQuestion] = useState<Question>();

  useEffect(() => {
    listenForSignOut(() => {
      setReason(EXPIRED);
      setSession((session) => session && signedOut(session));
    });
    open().then(({ session, reason, question }) => {
      setReason(reason);
      setQuestion(question);
      setSession(session);
    }, (error: RequestError) => setError(error.message));
  }, []);

  useEffect(() => {
    if (!session || session.access === "signed_out") return;
    // A page that was hidden for hours has asked nothing meanwhile, and another one may have signed in with another key.
    const check = async () => {
      if (document.visibilityState !== "visible") return;
      const newest = (await request<WebSession>("/ui/session")).value;
      if (newest.access === session.access && newest.key_id === session.key_id) return;
      forgetAnswers();
      setReason(EXPIRED);
      setSession(newest);
    };
    const onVisible = () => void check().catch(() => {}); // the view reports a server that can't be reached
    document.addEventListener("visibilitychange", onVisible);
    addEventListener("storage", onVisible); // another page has signed in or out
    return () => {
      document.removeEventListener("visibilitychange", onVisible);
      removeEventListener("storage", onVisible);
    };
  }, [session]);

  if (error) {
    const retry = <button type="button" class="small" onClick={() => location.reload()}>Try again</button>;
    return (
      <main class="sign-in">
        <Banner tone="bad" action={retry}>{escapeText(error)}</Banner>
      </main>
    );
  }
  if (!session) return null;
  if (session.access === "signed_out") {
    return <SignIn reason={reason} onSignedIn={(session) => (forgetAnswers(), setSession(session))} />;
  }
  if (question) {
    const done = (session: WebSession) => (setSession(session), setQuestion(undefined));
    return <SwitchKey {...question} present={session} onDone={done} />;
  }
  const access = {
    session,
    may: (scope: Parameters<typeof allowsScope>[1]) => allowsScope(session, scope),
    async signOut() {
      await request("/ui/session", { method: "DELETE" }).catch(() => {});
      keepToken(null);
      setReason("You have signed out.");
      setSession(signedOut(session));
    },
  };
  return (
    <AccessContext.Provider value={access}>
      <Toasts key={session.key_id}>
        <Dialogs>
          <Frame />
        </Dialogs>
      </Toasts>
    </AccessContext.Provider>
  );
}

/** A one-time code of another key than that of the session. */
interface Question {
  code: string;
  other: OtherKey;
}

/** Reads the session, after the exchange of a one-time code in the fragment, which no server and no log gets. */
async function open(): Promise<{ session: WebSession; reason?: string; question?: Question }> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  let reason: string | undefined;
  let question: Question | undefined;
  if (code !== undefined) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      return { session: await signIn({ code }) };
    } catch (error) {
      const { status, details } = error as RequestError;
      if (status === 409 && details.key_id) question = { code, other: details as unknown as OtherKey };
      else if (status === 401) reason = USED;
      else throw error;
    }
  }
  return { session: (await request<WebSession>("/ui/session")).value, reason, question };
}

function signedOut(session: WebSession): WebSession {
  return {
    ...session,
    access: "signed_out",
    key_id: null,
    name: null,
    scopes: [],
    agent_id: null,
    expires_at: null,
  };
}
