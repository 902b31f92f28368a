/** API keys: creates, lists, revokes and authenticates them. */
export {
  allows,
  checkKeys,
  createKey,
  type DueKey,
  getKey,
  type KeyReport,
  listKeys,
  type NewKey,
  revokeKey,
} from "./api_keys.ts";
export type { ApiKey } from "../contract/keys.ts";
export {
  authenticate,
  createKeyCache,
  createKeyCheck,
  hasUsableKey,
  isAuthRequired,
  KEY_CACHE_MS,
  KEY_CHECK_MS,
  type KeyCache,
  newSharedKeys,
  type Principal,
  type SharedKeys,
} from "./authenticate.ts";
export type { KeyContext } from "./context.ts";
export {
  authenticateSession,
  createSignInCode,
  createWebSession,
  endWebSession,
  type NewWebSession,
  readCodeKey,
  readSessionEnd,
  redeemSignInCode,
} from "./web_sessions.ts";
