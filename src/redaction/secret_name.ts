import type { CredentialKind } from "./credential_finding.ts";
import { oneOf } from "./credential_text.ts";

/** The trust in a name: under a weak one the value has to look like a secret. */
export type Trust = "strong" | "weak" | "authorization" | "cookie";

const KEY_OWNER = oneOf(
  "api access account secret private signing signature encryption master auth subscription consumer client shared " +
    "service app webhook jwt session hmac deploy admin",
);
const STRONG_NAME = new RegExp(
  `(?:pass(?:word|wd|phrase|wort)|pwd|${KEY_OWNER}[_.-]?(?:access[_.-]?)?(?:key|secret))s?$`,
  "i",
);
const WEAK_NAME = /(?:token|secret|credential|(?<![a-z])(?:auth|pass))$/i;
const WEAK_CAMEL_NAME = /[a-z](?:Auth|Pass)$/;
/** `next_page_token` is a cursor, `pad_token` a model's, `resetPassword` a button. */
const HARMLESS_NAME = new RegExp(
  "(?:^|[_.-])" + oneOf(
    "forgot forgotten reset change update show hide toggle has is no use require required wrong invalid incorrect " +
      "missing enter max min next prev previous page continuation sync cursor cancellation pad eos bos unk sep cls " +
      "mask stop image special",
  ) + "[_.-]?(?:page|user)?[_.-]?(?:pass[a-z]*|pwd|token)$",
  "i",
);
/** Further names of secret URL parameters. */
export const PARAMETER_NAME = /^(?:key|sig|signature|x-(?:amz|goog)-signature)$/i;

/** Returns the trust in a field or variable to hold a credential; undefined for all but a few. */
export function trustOf(name: string): Trust | undefined {
  if (STRONG_NAME.test(name)) return HARMLESS_NAME.test(name) ? undefined : "strong";
  if (WEAK_NAME.test(name) || WEAK_CAMEL_NAME.test(name)) {
    return HARMLESS_NAME.test(name) ? undefined : "weak";
  }
  if (/(?<![a-z])authorization$/i.test(name)) return "authorization";
  return /^(?:set-)?cookie$/i.test(name) ? "cookie" : undefined;
}

/** Returns the kind of the credentials under a name. */
export function kindOf(name: string, trust: Trust): CredentialKind {
  if (trust === "authorization") return "authorization_header";
  if (trust === "cookie") return "cookie";
  return /secret[_-]?access[_-]?key|aws[_-]?secret/i.test(name) ? "aws_secret_key" : "named_secret";
}
