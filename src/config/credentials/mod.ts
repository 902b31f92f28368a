/** The credentials of providers, as the ledger names them. Apart from the settings, as short commands don't need the hash. */
import { createHash } from "node:crypto";
import { credentialsOf, type ProviderSources, settingOfKey } from "../provider_access.ts";

/** The name and the hash of a credential; no hash where a provider needs none. */
export interface Credential {
  credential: string;
  keyHash?: string;
}

/** Returns the credential that requests to a provider have. Throws as `readProviderAccess()` does. */
export function credentialOf(provider: string, sources: ProviderSources): Credential {
  const [text] = credentialsOf(provider, sources).filter(Boolean);
  return { credential: settingOfKey(provider), ...(text !== undefined && { keyHash: hashCredential(text) }) };
}

/**
 * Returns a hash by which a credential is recognised: 64 bits of SHA-256 over a text that has a beginning of its own, so that it is no hash
 * that anything else stores. A word that can be guessed can be found by it: docs/security.md.
 */
export const hashCredential = (text: string): string =>
  createHash("sha256").update(`purser upstream credential\0${text}`).digest("hex").slice(0, 16);
