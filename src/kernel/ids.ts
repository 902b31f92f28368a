import type { Clock } from "./clock.ts";

/** The kind of entity that an id identifies; the prefix of the id. */
export type IdKind =
  | "run"
  | "ses"
  | "call"
  | "evt"
  | "msg"
  | "req"
  | "inst"
  | "rule"
  | "alert"
  | "dlv"
  | "anom"
  | "rep"
  | "bim"
  | "rec"
  | "amd"
  | "bud"
  | "raise"
  | "release"
  | "rsv"
  | "tkt"
  | "key";

/** Generates ids: `run_` and 26 characters that sort by time, as a ULID in lower case. */
export interface Ids {
  next(kind: IdKind): string;
}

/** The beginning of the ids of keys that are made for one command; those of others go on with a time. */
export const KEY_OF_CAPTURE = "key_capture";

/** Returns whether a key was made for one command by a server of its own. */
export const isKeyOfCapture = (keyId: string): boolean => keyId.startsWith(KEY_OF_CAPTURE);

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Creates ids of 48 bits of time and 80 random bits (the ULID layout). Within one millisecond the random part is
 * incremented, so ids of one process sort in the order they were generated, even when the clock steps back.
 */
export function createIds(clock: Pick<Clock, "now">, randomBytes = secureRandomBytes): Ids {
  let lastTime = -1;
  let time = "";
  const random = new Uint8Array(16); // five bits each
  return {
    next(kind) {
      const now = Math.max(clock.now(), lastTime);
      if (now > lastTime) {
        lastTime = now;
        time = "";
        for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) {
          time = ALPHABET[rest % 32] + time;
        }
        const bytes = randomBytes(16);
        for (let i = 0; i < 16; i++) random[i] = bytes[i]! & 31;
        random[0]! &= 15; // headroom: incrementing never overflows within a millisecond
      } else {
        for (let i = 15; i >= 0; i--) {
          if (random[i]! < 31) {
            random[i]!++;
            break;
          }
          random[i] = 0;
        }
      }
      let body = "";
      for (let i = 0; i < 16; i++) body += ALPHABET[random[i]!];
      return `${kind}_${time}${body}`;
    },
  };
}

const pool = new Uint8Array(1_024);
let used = pool.length;

/** Returns random bytes, each of them once. Many are drawn together, since a draw takes as long as all else of an id. */
function secureRandomBytes(length: number): Uint8Array {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool.subarray(used, used += length);
}

/** Creates ids for tests: `run_0001`, `call_0002`, … */
export function countingIds(): Ids {
  let count = 0;
  return { next: (kind) => `${kind}_${String(++count).padStart(4, "0")}` };
}

/** A valid agent id or session id, and the rule in words. */
export const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
export const NAME_RULE = "1 to 128 letters, digits, '.', '_', ':' or '-', a letter or digit first";
