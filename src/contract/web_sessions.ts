import { z } from "zod";
import type { Calendar } from "./calendars/zones.ts";
import type { Scope } from "./values.ts";

/** The wire format of the dashboard's sessions, which is not part of the API's document. */

/** The access of a browser. */
export interface WebSession {
  /** `keyless`: there is no API key yet, and this machine may do everything. `signed_out`: a key is required. */
  access: "keyless" | "signed_in" | "signed_out";
  /** The key of the session; null unless `signed_in`. */
  key_id: string | null;
  name: string | null;
  scopes: Scope[];
  /** The only agent of the key; null for all. */
  agent_id: string | null;
  /** The latest time at which the session ends; null if only idleness ends it. */
  expires_at: string | null;
  /** The calendar of the days of reports. */
  calendar: Calendar;
}

/** The access that a browser gets by signing in. */
export interface StartedWebSession extends WebSession {
  /** The secret of the session, for the storage of the page. Each request of the session has it in a header. */
  token: string;
}

export const SignIn = z.union([
  z.strictObject({ api_key: z.string().min(1).max(500) }),
  z.strictObject({
    code: z.string().min(1).max(100),
    /** True to sign in although the browser has a session of another key. */
    replace: z.boolean().optional(),
  }),
]);

/** The `details` of the conflict if a code belongs to another key than the browser's session. */
export interface OtherKey {
  key_id: string;
  name: string | null;
}

/** A code that signs a browser in, once. */
export interface SignInCode {
  code: string;
  expires_at: string;
}
