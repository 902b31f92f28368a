import type { Clock } from "../kernel/clock.ts";
import type { KeyRow } from "./api_key.ts";

/** The time for which a change of the keys by another instance may stay undetected on a shared database. */
export const KEY_CACHE_MS = 5_000;
/** The limit of cached keys. */
const MAX_CACHED_KEYS = 1_000;

/** The values of the cache, without promises, so that requests at the edge can share them. */
export interface SharedKeys {
  /** True if there has ever been a key; undefined before the first check. */
  hasKeys: boolean | undefined;
  /** The time of that check. */
  checkedAt: number;
  /** Verified keys by the digest of their text, with the time of the verification. */
  verified: Map<string, { since: number; row: KeyRow }>;
  /** Counts the calls of `clear()`. */
  generation: number;
  /** The time at which the use of a key was last recorded. */
  useRecordedAt: Map<string, number>;
}

/** Creates the values of an empty cache. */
export function newSharedKeys(): SharedKeys {
  return { hasKeys: undefined, checkedAt: 0, verified: new Map(), generation: 0, useRecordedAt: new Map() };
}

/** The cache of the API keys of a process. */
export interface KeyCache {
  /** Returns the row of a key that was verified recently, else the result of `verify`. Only valid keys are cached. */
  get(digest: string, verify: () => Promise<KeyRow | undefined>): Promise<KeyRow | undefined>;
  /**
   * Returns whether there has ever been a key, which never becomes false again. With `mustRead`, a cached `false` is not used
   * on a shared database.
   */
  hasKeys(read: () => Promise<boolean>, mustRead?: boolean): Promise<boolean>;
  recordCreation(): void;
  /** Removes all verified keys, after a key was revoked here. */
  clear(): void;
  readonly useRecordedAt: Map<string, number>;
  /** Pending writes of last uses. */
  readonly writing: Set<Promise<void>>;
}

interface Reading {
  since: number;
  row: Promise<KeyRow | undefined>;
}

/** Creates the cache of a process. A database of one process is always read; a shared one once per `KEY_CACHE_MS`. */
export function createKeyCache(
  clock: Pick<Clock, "monotonic">,
  { isShared, shared: known = newSharedKeys() }: { isShared: boolean; shared?: SharedKeys },
): KeyCache {
  const readings = new Map<string, Reading>();
  let looking: { since: number; found: Promise<boolean> } | undefined;
  const isFresh = (since: number) => clock.monotonic() - since < KEY_CACHE_MS;

  async function read(
    digest: string,
    verify: () => Promise<KeyRow | undefined>,
  ): Promise<KeyRow | undefined> {
    const { generation } = known;
    const reading = { since: clock.monotonic(), row: verify() };
    readings.set(digest, reading);
    try {
      const row = await reading.row;
      if (row && known.generation === generation) {
        known.verified.delete(digest); // moved to the end: the first ones are the oldest
        known.verified.set(digest, { since: reading.since, row });
        if (known.verified.size > MAX_CACHED_KEYS) {
          known.verified.delete(known.verified.keys().next().value!);
        }
      }
      return row;
    } finally {
      if (readings.get(digest) === reading) readings.delete(digest);
    }
  }

  return {
    useRecordedAt: known.useRecordedAt,
    writing: new Set(),
    async get(digest, verify) {
      if (!isShared) return await verify();
      const verified = known.verified.get(digest);
      if (verified && isFresh(verified.since)) return verified.row;
      const reading = readings.get(digest);
      if (reading && isFresh(reading.since)) return await reading.row;
      return await read(digest, verify);
    },
    async hasKeys(readHasKeys, mustRead = false) {
      // A process with a database of its own has created every key itself.
      const isKnown = !isShared || (!mustRead && isFresh(known.checkedAt));
      if (known.hasKeys || (known.hasKeys === false && isKnown)) return known.hasKeys;
      looking ??= { since: clock.monotonic(), found: readHasKeys().finally(() => looking = undefined) };
      const { since, found } = looking;
      const hasKeys = await found;
      known.hasKeys ||= hasKeys;
      known.checkedAt = since;
      return known.hasKeys;
    },
    recordCreation() {
      known.hasKeys = true;
    },
    clear() {
      known.generation++;
      known.verified.clear();
      readings.clear();
    },
  };
}
