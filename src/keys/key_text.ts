import { createHash, timingSafeEqual } from "node:crypto";

/**
 * The text of a key: `psr_`, the body of its id, `_`, 32 random characters, and 7 of a checksum over all before it.
 * Secret scanners know it by its beginning, and tell a real one by its checksum.
 */

/** That of ids: Crockford's base 32 in lower case, without letters that are taken for digits. */
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

/** What a text that should be a key is. `damaged`: cut off or mistyped. */
export type ParsedKey =
  | { is: "whole"; keyId: string; secret: string }
  | { is: "damaged" }
  | { is: "foreign" };

/** A new secret part. */
export function newSecret(randomBytes: (length: number) => Uint8Array = secureRandomBytes): string {
  return [...randomBytes(SECRET_LENGTH)].map((byte) => ALPHABET[byte & 31]).join("");
}

/** The whole text of a key, to be shown once and kept nowhere. */
export function writeKeyText(keyId: string, secret: string): string {
  const text = `${PREFIX}${keyId.slice(ID_PREFIX.length)}_${secret}`;
  return text + checksumOf(text);
}

/** Takes a key's text apart. The checksum tells a typo, or a paste without its end, from a key that is not known. */
export function parseKeyText(text: string): ParsedKey {
  if (!text.startsWith(PREFIX)) return { is: "foreign" };
  const [, body, secret, checksum] = FORM.exec(text) ?? [];
  if (checksum === undefined || checksum !== checksumOf(text.slice(0, -CHECKSUM_LENGTH))) {
    return { is: "damaged" };
  }
  return { is: "whole", keyId: ID_PREFIX + body, secret: secret! };
}

/** CRC-32 (ISO 3309, as in gzip): it notices any change within 32 bits, so any one character and any two neighbours. */
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

/** SHA-256 in hex. A secret of 160 random bits needs no salt and no slow hash: there is nothing to guess from. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Of no secret; stands in where there is no key, so that the comparison is made all the same. */
const NO_HASH = "0".repeat(64);

/** Whether a secret has this hash, in a time that does not depend on either. */
export function hasHash(secret: string, hash: string = NO_HASH): boolean {
  const encoder = new TextEncoder();
  return timingSafeEqual(encoder.encode(hashSecret(secret)), encoder.encode(hash));
}
