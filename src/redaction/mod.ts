/** What looks like a credential in a text, and what is put in its place. */
export {
  type CredentialKind,
  redactCredentials,
  redactField,
  type RedactOptions,
} from "./redact_credentials.ts";
