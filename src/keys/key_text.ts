import { createHash, timingSafeEqual } from "node:crypto";

/**
 * The text of a key: `psr_`, the body of its id, `_`, 32 random characters, and 7 of a checksum over all before it. Secret
 * scanners find it by its prefix, and verify it by its checksum.
 */

/** The alphabet of ids: Crockford's base 32 in lower case, without letters that look like digits. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX = "psr_";
const ID_PREFIX = "key_";
/** 160 bits. */
const SECRET_LENGTH = 32;
/** 32 bits, in characters of five. */
const CHECKSUM_LENGTH = 7;

const FORM = new RegExp(
  `^${PREFIX}([0-9a-z]{1,64})_([${ALPHABET}]{${SECRET_LENGTH}})([${ALPHABET}]{${CHECKSUM_LENGTH}})$`,
);

/** The result of parsing a key's text. `damaged`: cut off or mistyped. */
export type ParsedKey =
  | { is: "whole"; keyId: string; secret: string }
  | { is: "damaged" }
  | { is: "foreign" };

/** Creates a random secret part. */
export function newSecret(randomBytes: (length: number) => Uint8Array = secureRandomBytes): string {
  return [...randomBytes(SECRET_LENGTH)].map((byte) => ALPHABET[byte & 31]).join("");
}

/** Returns the whole text of a key, to be shown once and stored nowhere. */
export function writeKeyText(keyId: string, secret: string): string {
  const text = `${PREFIX}${keyId.slice(ID_PREFIX.length)}_${secret}`;
  return text + checksumOf(text);
}

/** Parses a key's text. The checksum distinguishes a typo or an incomplete paste from an unknown key. */
export function parseKeyText(text: string): ParsedKey {
  if (!text.startsWith(PREFIX)) return { is: "foreign" };
  const [, body, secret, checksum] = FORM.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(text.slice(0, -CHECKSUM_LENGTH))) {
    return { is: "damaged" };
  }
  return { is: "whole", keyId: ID_PREFIX + body, secret: secret! };
}

/** CRC-32 (ISO 3309, as in gzip): detects any change within 32 bits, so of any character and of any two neighbors. */
function checksumOf(text: string): string {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let rest = ~crc >>> 0;
  let written = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++, rest = Math.floor(rest / 32)) {
    written = ALPHABET[rest % 32] + written;
  }
  return written;
}

function secureRandomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Hashes a secret with SHA-256, in hex. A secret of 160 random bits can't be guessed, so it needs no salt or slow hash. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Matches no secret; compared for an unknown key, so that the time is the same. */
const NO_HASH = "0".repeat(64);

/** Returns whether a secret has this hash, in constant time. */
export function hasHash(secret: string, hash: string = NO_HASH): boolean {
  const encoder = new TextEncoder();
  return timingSafeEqual(encoder.encode(hashSecret(secret)), encoder.encode(hash));
}
