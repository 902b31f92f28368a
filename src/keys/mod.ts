/** Keys to the API: made, listed, revoked, and recognised. */
export type { ApiKey } from "../contract/keys.ts";
export { authenticate, type Principal, stillHolds } from "./authenticate.ts";
export { checkKeys, type DueKey, type KeyReport } from "./check_keys.ts";
export type { KeyContext } from "./context.ts";
export { createKey, type NewKey } from "./create_key.ts";
export {
  createKeyMemory,
  type KeyMemory,
  newSharedKeys,
  REMEMBERED_MS,
  type SharedKeys,
} from "./key_memory.ts";
export { hasUsableKey, isAuthRequired } from "./auth_required.ts";
export { getKey, listKeys } from "./list_keys.ts";
export { revokeKey } from "./revoke_key.ts";
export { allows } from "./scopes.ts";
