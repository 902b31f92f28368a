import type { KeyRow } from "./api_keys.ts";

/** The row of a key whose secret was right; `isReplaced`: by the secret before the present one. */
export type VerifiedKey = KeyRow & { isReplaced?: boolean };

/** The values of the cache of API keys, without promises, so that requests at the edge can share them. */
export interface SharedKeys {
  /** True if there has ever been a key; undefined before the first check. */
  hasKeys: boolean | undefined;
  /** The time of that check. */
  checkedAt: number;
  /** Verified keys by the digest of their text, with the time of the verification. */
  verified: Map<string, { since: number; row: VerifiedKey }>;
  /** The digests of keys whose secret was right. */
  valid: Set<string>;
  /** Counts the calls of `clear()`. */
  generation: number;
  /** The time at which the use of a key was last recorded. */
  useRecordedAt: Map<string, number>;
}

/** Creates the values of an empty cache. */
export function newSharedKeys(): SharedKeys {
  return {
    hasKeys: undefined,
    checkedAt: 0,
    verified: new Map(),
    valid: new Set(),
    generation: 0,
    useRecordedAt: new Map(),
  };
}
