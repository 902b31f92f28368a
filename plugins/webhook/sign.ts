import { fromBase64, toBase64 } from "../../src/delivery/channels/mod.ts";

const PREFIX = "whsec_";

/** Returns true for a secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes. */
export function isSecret(text: string): boolean {
  const length = text.startsWith(PREFIX) ? decode(text)?.length : undefined;
  return length !== undefined && length >= 24 && length <= 64;
}

/** Imports a secret that `isSecret` as a key. */
export async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = decode(secret) ?? new Uint8Array();
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

/**
 * Returns the value of `webhook-signature`: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, once for each
 * key, separated by spaces, so that receivers can rotate theirs. Empty without keys.
 */
export async function sign(
  input: { id: string; timestamp: number; body: string; keys: readonly CryptoKey[] },
): Promise<string> {
  const signed = new TextEncoder().encode(`${input.id}.${input.timestamp}.${input.body}`);
  const signatures = input.keys.map(async (key) =>
    `v1,${toBase64(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)))}`
  );
  return (await Promise.all(signatures)).join(" ");
}

function decode(secret: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return fromBase64(secret.slice(PREFIX.length));
  } catch {
    return undefined; // not base64
  }
}
