import { useState } from "preact/hooks";
import type { OtherKey, StartedWebSession, WebSession } from "../../contract/web_sessions.ts";
import { escapeText } from "../../kernel/text.ts";
import { request, type RequestError } from "../hooks/request.ts";
import { keepToken } from "../hooks/session.ts";
import { Mark } from "./frame.tsx";

/** Signs in with an API key or a one-time code. Throws a `RequestError`. */
export async function signIn(
  body: { api_key: string } | { code: string; replace?: boolean },
): Promise<WebSession> {
  const { value: { token, ...session } } = await request<StartedWebSession>("/ui/session", {
    method: "POST",
    body,
  });
  keepToken(token);
  return session;
}

/** The page that asks for an API key. `reason` says why it is shown again. */
export function SignIn({ reason, onSignedIn }: { reason?: string; onSignedIn(session: WebSession): void }) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const key = String(new FormData(form).get("api_key")).trim();
    if (key === "" || isBusy) return;
    setBusy(true);
    try {
      onSignedIn(await signIn({ api_key: key }));
    } catch (error) {
      setError((error as RequestError).message);
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <div class="sign-in-box">
        <Mark />
        <h1>Sign in to Purser</h1>
        <p class="muted">
          {reason ?? "This server requires an API key. The browser keeps a session, and not the key."}
        </p>
        <form onSubmit={submit}>
          <label for="api-key">API key</label>
          <input
            id="api-key"
            name="api_key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="psr_…"
            required
            autofocus
            aria-invalid={error ? true : undefined}
            aria-describedby={error ? "sign-in-error" : undefined}
          />
          {error && <p id="sign-in-error" class="field-error" role="alert">{escapeText(error)}</p>}
          <button type="submit" class="primary" disabled={isBusy}>Sign in</button>
        </form>
        <p class="sign-in-help">
          Or open a one-time link from a terminal: <code class="one-line">purser dashboard</code>
        </p>
      </div>
    </main>
  );
}

/** The page that asks whether a link may sign in as another key than that of the browser's session. */
export function SwitchKey({ code, present, other, onDone }: {
  code: string;
  present: WebSession;
  other: OtherKey;
  onDone(session: WebSession): void;
}) {
  const [error, setError] = useState<string>();
  const name = escapeText(other.name ?? other.key_id);
  const presentName = escapeText(present.name ?? present.key_id ?? "");
  const replace = () =>
    signIn({ code, replace: true }).then(onDone, (error: RequestError) => setError(error.message));
  return (
    <main class="sign-in">
      <div class="sign-in-box">
        <Mark />
        <h1>Sign in as {name}?</h1>
        <p>
          You are signed in with the key{" "}
          {presentName}. The link that you opened signs this browser in with the key {name}{" "}
          instead. Do so only if you, or somebody you trust, made the link.
        </p>
        {error && <p class="field-error" role="alert">{escapeText(error)}</p>}
        <div class="dialog-buttons">
          <button type="button" onClick={() => onDone(present)} autofocus>Stay signed in</button>
          <button type="button" class="primary" onClick={() => void replace()}>Switch the key</button>
        </div>
      </div>
    </main>
  );
}
