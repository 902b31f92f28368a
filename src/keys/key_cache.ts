import type { Clock } from "../kernel/clock.ts";
import type { KeyRow } from "./api_key.ts";

/** How long a change to the keys by another instance may go unnoticed on a shared database. */
export const KEY_CACHE_MS = 5_000;
/** More verified keys than this are not remembered at once. */
const MAX_CACHED_KEYS = 1_000;

/** What is known of the keys: plain values, which requests may share where they may share nothing that waits. */
export interface SharedKeys {
  /** Whether there has ever been a key; undefined until somebody has looked. */
  hasKeys: boolean | undefined;
  /** When that was looked for. */
  checkedAt: number;
  /** Keys that were verified, by the digest of their text, and when. */
  verified: Map<string, { since: number; row: KeyRow }>;
  /** How often all of them were forgotten. */
  forgotten: number;
  /** When the use of a key was last noted. */
  useRecordedAt: Map<string, number>;
}

/** Nothing is known yet. */
export function newSharedKeys(): SharedKeys {
  return { hasKeys: undefined, checkedAt: 0, verified: new Map(), forgotten: 0, useRecordedAt: new Map() };
}

/** What a process knows of the keys without asking the database. */
export interface KeyCache {
  /**
   * The row of a key that was verified a moment ago, else what `verify` finds. Only keys that are right are
   * remembered: of all others an answer costs the same work each time.
   */
  recall(digest: string, verify: () => Promise<KeyRow | undefined>): Promise<KeyRow | undefined>;
  /**
   * Whether there has ever been a key; once that is so, it stays so. With `isAnew` a shared database is asked again
   * where there was none a moment ago.
   */
  hasKeys(look: () => Promise<boolean>, isAnew?: boolean): Promise<boolean>;
  recordCreation(): void;
  /** Forgets all that was verified: a key has been revoked here. */
  forget(): void;
  readonly useRecordedAt: Map<string, number>;
  /** Writes of last uses that are under way. */
  readonly writing: Set<Promise<void>>;
}

interface Reading {
  since: number;
  row: Promise<KeyRow | undefined>;
}

/** A memory for one process. Where it is alone it knows at once of every change, on a shared database in time. */
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
    const { forgotten } = known;
    const reading = { since: clock.monotonic(), row: verify() };
    readings.set(digest, reading);
    try {
      const row = await reading.row;
      if (row && known.forgotten === forgotten) {
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
    async recall(digest, verify) {
      if (!isShared) return await verify();
      const verified = known.verified.get(digest);
      if (verified && isFresh(verified.since)) return verified.row;
      const reading = readings.get(digest);
      if (reading && isFresh(reading.since)) return await reading.row;
      return await read(digest, verify);
    },
    async hasKeys(look, isAnew = false) {
      // A process that is alone has made every key itself.
      const isKnown = !isShared || (!isAnew && isFresh(known.checkedAt));
      if (known.hasKeys || (known.hasKeys === false && isKnown)) return known.hasKeys;
      looking ??= { since: clock.monotonic(), found: look().finally(() => looking = undefined) };
      const { since, found } = looking;
      const hasKeys = await found;
      known.hasKeys ||= hasKeys;
      known.checkedAt = since;
      return known.hasKeys;
    },
    recordCreation() {
      known.hasKeys = true;
    },
    forget() {
      known.forgotten++;
      known.verified.clear();
      readings.clear();
    },
  };
}
