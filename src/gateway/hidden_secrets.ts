import { Buffer } from "node:buffer";
import { credentialsOf } from "../config/mod.ts";
import type { GatewayContext } from "./context.ts";
import { base64CoresOf, createSecrets, formsOf, partsOf } from "../redaction/values/mod.ts";

/** Replaces the credentials of a provider in its answers, and leaves every other byte as it is. */
export interface HiddenSecrets {
  /** Returns bytes without them; the same where they have none. `text` is their text, where it is known already. */
  inBytes(bytes: Uint8Array<ArrayBuffer>, text?: string): Uint8Array<ArrayBuffer>;
  /** Returns the value of a header without them. */
  inText(text: string): string;
}

/**
 * Returns the search for the credentials of a provider, in the forms in which configured secrets are found. A value that a model
 * writes over several events of a stream is not found.
 */
export function hideSecrets(
  { gateway: { hiddenSecrets: known }, providerSources }: Pick<GatewayContext, "gateway" | "providerSources">,
  provider: string,
): HiddenSecrets {
  const found = known.get(provider);
  if (found) return found;
  // The bytes of an answer are searched as one character each, so that all others stay what they are.
  const values = credentialsOf(provider, providerSources)
    .flatMap((value) => [value, Buffer.from(value).toString("latin1")]);
  const secrets = createSecrets(values);
  // To search for each of them by `includes()` takes less time than to scrub, and most answers have none.
  const parts = values.flatMap((value) => [value, ...partsOf(value)]);
  const forms = [...new Set(parts.flatMap((part) => [...formsOf(part), ...base64CoresOf(part)]))];
  const hidden: HiddenSecrets = {
    inBytes(bytes, text) {
      const latin1 = () => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
      const searched = text ?? latin1();
      if (!forms.some((form) => searched.includes(form))) return bytes;
      return Buffer.from(secrets.scrub(text === undefined ? searched : latin1()), "latin1");
    },
    inText: secrets.scrub,
  };
  known.set(provider, hidden);
  return hidden;
}
