/** API keys: creates, lists, revokes and authenticates them. */
export { allows } from "./api_key.ts";
export type { ApiKey } from "../contract/keys.ts";
export {
  authenticate,
  createKeyCheck,
  hasUsableKey,
  isAuthRequired,
  type Principal,
} from "./authenticate.ts";
export { checkKeys, type DueKey, type KeyReport } from "./check_keys.ts";
export type { KeyContext } from "./context.ts";
export { createKey, getKey, listKeys, type NewKey, revokeKey } from "./api_keys.ts";
export { createKeyCache, KEY_CACHE_MS, type KeyCache, newSharedKeys, type SharedKeys } from "./key_cache.ts";
