import type { Tags } from "../contract/tags/tags.ts";
import type { Scope } from "../contract/values.ts";

/** The authenticated caller of a request, and its permissions. */
export interface Principal {
  /** Null for an anonymous caller. */
  readonly keyId: string | null;
  readonly scopes: readonly Scope[];
  /** The only accessible agent; null for all. */
  readonly agentId: string | null;
  /** The key's name. */
  readonly name?: string;
  /** The models that it may call through the gateway; null or undefined for all. */
  readonly models?: readonly string[] | null;
  /** True if its calls are refused before they spend a plan's paid credits. */
  readonly stopsBeforeCredits?: boolean;
  /** The tags that its calls get, whatever it says; undefined for none. */
  readonly tags?: Tags;
  /** The hash of the secret that was sent; a stream ends when that was replaced. */
  readonly secretHash?: string;
  /** True if that secret was replaced and is still accepted for a time: it begins no session of the dashboard. */
  readonly isReplaced?: boolean;
  /** The hash of the session of the dashboard that the request belongs to; undefined for a key. */
  readonly webSession?: string;
}
