/** API keys: creates, lists, rotates, revokes, names and authenticates them. */
export {
  allows,
  changeKey,
  createKey,
  getKey,
  KEYS,
  listKeys,
  type NewKey,
  revokeKey,
  rotateKey,
  statusOf,
} from "./api_keys.ts";
export { findKey, idOf, nameField, type Names, nameSql, readNames, withNames } from "./key_names.ts";
export type { ApiKey } from "../contract/keys.ts";
export {
  authenticate,
  checkPresentSecret,
  createKeyCheck,
  hasUsableKey,
  isAuthRequired,
} from "./authenticate.ts";
export type { Principal } from "./principal.ts";
export { newSharedKeys, type SharedKeys } from "./shared_keys.ts";
export { createKeyCache, KEY_CACHE_MS, KEY_CHECK_MS, type KeyCache } from "./key_cache.ts";
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
