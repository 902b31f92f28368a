import { Buffer } from "node:buffer";
import { credentialsOf, type ProviderSources } from "../config/mod.ts";
import { createSecrets } from "../redaction/values/mod.ts";

/** Replaces the credentials of a provider in its answers, and leaves every other byte as it is. */
export interface HiddenSecrets {
  /** Returns bytes without them; the same where they have none. */
  inBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
  /** Returns the value of a header without them. */
  inText(text: string): string;
}

/**
 * Returns the search for the credentials of a provider, in the forms in which configured secrets are found. A value that a model
 * writes over several events of a stream is not found.
 */
export function hideSecrets(provider: string, sources: ProviderSources): HiddenSecrets {
  // The bytes of an answer are searched as one character each, so that all others stay what they are.
  const values = credentialsOf(provider, sources)
    .flatMap((value) => [value, Buffer.from(value).toString("latin1")]);
  const secrets = createSecrets(values);
  return {
    inBytes(bytes) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
      const scrubbed = secrets.scrub(text);
      return scrubbed === text ? bytes : Buffer.from(scrubbed, "latin1");
    },
    inText: secrets.scrub,
  };
}
