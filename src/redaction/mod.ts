/** Finds and redacts credentials in texts. */
export {
  type CredentialKind,
  redactCredentials,
  redactField,
  type RedactOptions,
} from "./redact_credentials.ts";
