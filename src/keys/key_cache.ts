import type { Clock } from "../kernel/clock.ts";
import { newSharedKeys, type SharedKeys, type VerifiedKey } from "./shared_keys.ts";

/** The time for which a change of the keys by another instance may stay undetected on a shared database. */
export const KEY_CACHE_MS = 5_000;
/** The interval of reading the key of a stream again, so that with its own interval it ends within `KEY_CACHE_MS`. */
export const KEY_CHECK_MS = 2_500;
/** The limit of cached keys. */
const MAX_CACHED_KEYS = 1_000;

/** The cache of the API keys of a process. */
export interface KeyCache {
  /** Returns the row of a key that was verified recently, else the result of `verify`. Only valid keys are cached. */
  get(digest: string, verify: () => Promise<VerifiedKey | undefined>): Promise<VerifiedKey | undefined>;
  /** Returns the row of a key that was read within `KEY_CHECK_MS`, else the result of `read`. */
  getById(keyId: string, read: () => Promise<VerifiedKey | undefined>): Promise<VerifiedKey | undefined>;
  /**
   * Returns whether there has ever been a key, which never becomes false again. With `mustRead`, a cached `false` is not used
   * on a shared database.
   */
  hasKeys(read: () => Promise<boolean>, mustRead?: boolean): boolean | Promise<boolean>;
  recordCreation(): void;
  /** Returns whether a key's secret was right at some time in this process; a revoked key's stays so. */
  wasValid(digest: string): boolean;
  /** Removes all keys, after one was revoked here. */
  clear(): void;
  readonly useRecordedAt: Map<string, number>;
  /** Pending writes of last uses. */
  readonly writing: Set<Promise<void>>;
}

interface Reading {
  since: number;
  row: Promise<VerifiedKey | undefined>;
}

/** Creates the cache of a process. A database of one process is always read; a shared one once per `KEY_CACHE_MS`. */
export function createKeyCache(
  clock: Pick<Clock, "monotonic">,
  { isShared, shared: known = newSharedKeys() }: { isShared: boolean; shared?: SharedKeys },
): KeyCache {
  const readings = new Map<string, Reading>();
  const checks = new Map<string, Reading>();
  let looking: { since: number; found: Promise<boolean> } | undefined;
  const isFresh = (since: number) => clock.monotonic() - since < KEY_CACHE_MS;

  function recordValid(digest: string, row: VerifiedKey | undefined): VerifiedKey | undefined {
    if (!row || known.valid.has(digest)) return row;
    known.valid.add(digest);
    if (known.valid.size > MAX_CACHED_KEYS) known.valid.delete(known.valid.values().next().value!);
    return row;
  }

  async function read(
    digest: string,
    verify: () => Promise<VerifiedKey | undefined>,
  ): Promise<VerifiedKey | undefined> {
    const { generation } = known;
    const reading = { since: clock.monotonic(), row: verify() };
    readings.set(digest, reading);
    try {
      const row = recordValid(digest, await reading.row);
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

  async function look(readHasKeys: () => Promise<boolean>): Promise<boolean> {
    looking ??= { since: clock.monotonic(), found: readHasKeys().finally(() => looking = undefined) };
    const { since, found } = looking;
    const hasKeys = await found;
    known.hasKeys ||= hasKeys;
    known.checkedAt = since;
    return known.hasKeys;
  }

  return {
    useRecordedAt: known.useRecordedAt,
    writing: new Set(),
    async get(digest, verify) {
      if (!isShared) return recordValid(digest, await verify());
      const verified = known.verified.get(digest);
      if (verified && isFresh(verified.since)) return verified.row;
      const reading = readings.get(digest);
      if (reading && isFresh(reading.since)) return await reading.row;
      return await read(digest, verify);
    },
    async getById(keyId, readRow) {
      const known = checks.get(keyId);
      if (known && clock.monotonic() - known.since < KEY_CHECK_MS) return await known.row;
      const check = { since: clock.monotonic(), row: readRow() };
      checks.delete(keyId); // moved to the end: the first ones are the oldest
      checks.set(keyId, check);
      if (checks.size > MAX_CACHED_KEYS) checks.delete(checks.keys().next().value!);
      try {
        return await check.row;
      } catch (error) {
        if (checks.get(keyId) === check) checks.delete(keyId);
        throw error;
      }
    },
    hasKeys(readHasKeys, mustRead = false) {
      // A process with a database of its own has created every key itself.
      const isKnown = !isShared || (!mustRead && isFresh(known.checkedAt));
      if (known.hasKeys || (known.hasKeys === false && isKnown)) return known.hasKeys;
      return look(readHasKeys);
    },
    recordCreation() {
      known.hasKeys = true;
    },
    wasValid: (digest) => known.valid.has(digest),
    clear() {
      known.generation++;
      known.verified.clear();
      readings.clear();
      checks.clear();
    },
  };
}
