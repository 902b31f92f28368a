import {
  type Add,
  type CredentialKind,
  type Finding,
  findTokens,
  FORMATS,
  isOrdinaryName,
} from "./find_tokens.ts";
import { findAssignments, findFlags, kindOf, trustOf } from "./find_assignments.ts";
import { isPlaceholder, isSecret } from "./secret_value.ts";
import { matchAt, tailBefore } from "./credential_text.ts";

/** Finds and redacts credentials in texts. */
export type { CredentialKind } from "./find_tokens.ts";

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

const KEY_MARKER = /-----(BEGIN|END) (?:[A-Z0-9]+ ){0,3}$/;

const KEY_MARKER_REST = /PRIVATE KEY(?: BLOCK)?-----/y;

const KEY_GAP = String.raw`(?:[\s"'${"`"},>|]|\\[nrt]?|\+(?=[\s\\]))*`;

const KEY_HEADER = String.raw`[A-Z][A-Za-z]{1,20}(?:-[A-Za-z]{1,20})?: [^\n\\]{1,99}`;

const KEY_LINE = new RegExp(`${KEY_GAP}(?:${KEY_HEADER}|[A-Za-z0-9+/=]{32,})`, "y");

const KEY_LAST_LINE = new RegExp(`${KEY_GAP}[A-Za-z0-9+/=]{1,31}(?=${KEY_GAP}(?:-----END|…|[.]{3}|$))`, "y");

const KEY_END = new RegExp(`${KEY_GAP}-----END(?: [A-Z0-9 ]{1,40}-----|[A-Z0-9 -]{0,40}$)`, "y");

const KEY_BREAK = String.raw`(?:\\{1,3}r)?(?:\\{1,3}n|\r?\n)`;

const KEY_TAIL = new RegExp(`(?:[A-Za-z0-9+/=]{40,100}${KEY_BREAK})+(?:[A-Za-z0-9+/=]{1,100}${KEY_BREAK})?$`);

/** Finds PEM blocks, also truncated ones, and those with line breaks written as `\n`. */
function findPrivateKeys(text: string, add: Add): void {
  let done = 0;
  for (let at = text.indexOf("PRIVATE KEY"); at >= 0; at = text.indexOf("PRIVATE KEY", at + 1)) {
    const marker = at >= done && KEY_MARKER.exec(tailBefore(text, at, 40));
    const rest = marker && matchAt(KEY_MARKER_REST, text, at);
    if (!rest) continue;
    const edge = at - marker[0].length;
    const body = at + rest[0].length;
    const start = marker[1] === "BEGIN" ? edge : edge - lengthOfTail(text, edge, done);
    const end = marker[1] === "BEGIN" ? endOfKey(text, body) : body;
    done = end;
    if (start === edge && end === body) continue; // a marker without a key, as in code that looks for one
    add({ kind: "private_key", start, end });
  }
}

function endOfKey(text: string, body: number): number {
  let end = body;
  const extend = (part: RegExp) => {
    const match = matchAt(part, text, end);
    end += match?.[0].length ?? 0;
    return match !== null;
  };
  while (extend(KEY_LINE));
  if (end === body) return body;
  extend(KEY_LAST_LINE);
  extend(KEY_END);
  return end;
}

/** Returns the length of a key before its end marker, where its beginning is cut off. */
function lengthOfTail(text: string, at: number, from: number): number {
  return KEY_TAIL.exec(tailBefore(text, at, Math.min(8000, at - from)))?.[0].length ?? 0;
}
