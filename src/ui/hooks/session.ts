import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { WebSession } from "../../contract/web_sessions.ts";
import type { Scope } from "../../contract/values.ts";

/** The signed-in key of the page, and the functions to change it. */
export interface Access {
  readonly session: WebSession;
  /** Returns whether the key has a scope; `admin` includes all. */
  may(scope: Scope): boolean;
  signOut(): Promise<void>;
}

export const AccessContext = createContext<Access | undefined>(undefined);

/** Returns the access of the page. Show a button only where `may("admin")` or another scope allows its action. */
export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (!access) throw new Error("The view is outside of the frame");
  return access;
}

/** Returns whether a session allows what needs a scope. Without keys, this machine may do everything. */
export function allowsScope({ access, scopes }: WebSession, scope: Scope): boolean {
  return access === "keyless" || scopes.includes(scope) || scopes.includes("admin");
}

const NAME = "purser-session";

/** The token, where the browser's settings refuse storage: the session then lasts as long as the page. */
let unstored: string | null = null;

/**
 * Returns the token of the session, or null. It is in the storage of this origin, which no other port and no other site can read
 * or change, and which all pages of the dashboard share. They read it before each request: another page may have signed in or out.
 */
export function readToken(): string | null {
  try {
    return localStorage.getItem(NAME) ?? unstored;
  } catch {
    return unstored;
  }
}

/** Keeps the token of a session that has begun, or forgets it by null. */
export function keepToken(token: string | null): void {
  unstored = null;
  try {
    if (token === null) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, token);
  } catch {
    unstored = token;
  }
}

let onSignedOut: () => void = () => {};

/** Registers the function that is called when the server no longer accepts the session. */
export function listenForSignOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Reports that the server has refused the session of a token: it has expired, or its key was revoked. */
export function signalSignedOut(token: string | null): void {
  if (readToken() === token) keepToken(null);
  onSignedOut();
}
