import { createHash, timingSafeEqual } from "node:crypto";

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
