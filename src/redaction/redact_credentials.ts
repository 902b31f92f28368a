import { type Add, type CredentialKind, type Finding, FORMATS } from "./credential_finding.ts";
import { findAssignments, findFlags } from "./find_assignments.ts";
import { findPrivateKeys } from "./find_private_keys.ts";
import { findTokens, isOrdinaryName } from "./find_tokens.ts";
import { kindOf, trustOf } from "./secret_name.ts";
import { isPlaceholder, isSecret } from "./secret_value.ts";

export type { CredentialKind } from "./credential_finding.ts";

/** Options of redaction. */
export interface RedactOptions {
  /** Keeps tokens that are merely random, for texts where they are common: signatures, cache keys. */
  readonly withoutEntropy?: boolean;
}

/**
 * Replaces each credential in a text by `[redacted:KIND]`, and calls `found` for each. Returns the same string when
 * there is none. It is idempotent.
 */
export function redactCredentials(
  text: string,
  found: (kind: CredentialKind) => void,
  options: RedactOptions = {},
): string {
  // Repeated until there is none: a placeholder splits the word it is in, and the rest is a new one.
  for (;;) {
    const findings = findCredentials(text, options);
    if (findings.length === 0) return text;
    const parts: string[] = [];
    let from = 0;
    for (const { kind, start, end } of findings) {
      if (start < from) continue;
      found(kind);
      parts.push(text.slice(from, start), `[redacted:${kind}]`);
      from = end;
    }
    parts.push(text.slice(from));
    text = parts.join("");
  }
}

/**
 * Redacts the value of a field, where the field's name can suffice: under `password` any text but a placeholder is a
 * credential; under `token` and `secret` it has to look like one.
 */
export function redactField(name: string, value: string, found: (kind: CredentialKind) => void): string {
  const trust = trustOf(name);
  const options = { withoutEntropy: isOrdinaryName(name) };
  if (!trust || value.trim() === "" || isPlaceholder(value)) return redactCredentials(value, found, options);
  const isWhole = /^(?:[A-Za-z][\w-]* +)?\[redacted:\w+\]$/.test(redactCredentials(value, () => {}));
  const isWord = trust === "weak" && !isSecret(value, { name, trust, isQuoted: true });
  if (isWhole || isWord) return redactCredentials(value, found);
  const scheme = trust === "authorization" ? /^[A-Za-z][\w-]* +(?=\S)/.exec(value)?.[0] ?? "" : "";
  if (isPlaceholder(value.slice(scheme.length))) return value;
  const kind = kindOf(name, trust);
  found(kind);
  return `${scheme}[redacted:${kind}]`;
}

/** Finds credentials, in order of position; of those with the same start the longest, then the most specific, first. */
function findCredentials(text: string, { withoutEntropy = false }: RedactOptions): Finding[] {
  const findings: Finding[] = [];
  const add: Add = (finding) => void findings.push(finding);
  findPrivateKeys(text, add);
  findTokens(text, add, withoutEntropy);
  for (const separator of [":", "=", ">"]) findAssignments(text, separator, add);
  findFlags(text, add);
  const rank = ({ kind }: Finding) => kind in FORMATS ? 0 : kind === "high_entropy_token" ? 2 : 1;
  return findings.sort((a, b) => a.start - b.start || b.end - a.end || rank(a) - rank(b));
}
