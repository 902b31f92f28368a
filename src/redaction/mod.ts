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

/** Finds and redacts credentials in texts, and in the messages and events of sessions. */

/** Options of redaction. */
interface RedactOptions {
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

/** The number of credentials found, by kind. */
export type Found = Map<CredentialKind, number>;

/** Fields of a message, a part, an event or an agent that a session needs to continue. */
const STRUCTURAL = new Set([
  ...["id", "created_at", "updated_at", "role", "type", "at", "model", "mediaType", "toolCallId", "toolName"],
  ...["approvalId", "agent_id", "session_id", "run_id", "call_id", "tool_call_id", "tool_name", "message_id"],
]);

/** Fields that contain more such records. */
const RECORDS = new Set(["content", "payload", "definition", "tool_calls", "messages", "events", "agent"]);

/** Signatures of reasoning, encrypted reasoning, cache keys: random by nature, and invalid when changed. */
const OPAQUE = new Set(["providerOptions", "providerMetadata", "provider_options", "provider_metadata"]);

/** Names of fields that a provider has encrypted or signed, also in a tool's output: it requires them unchanged. */
const ENCRYPTED = /^(encrypted|signature|thought_?signature)/i;

/** Types of parts with media, in a message or in a tool's output. */
const MEDIA = /^(?:file|image|media|audio|video|reasoning-file|file-data|image-data|data)$/;

const BASE64 = /^(?:data:[^,]{0,200},)?[A-Za-z0-9+/=\s]*$/;

type Fields = Record<string, unknown>;

type Walk = (value: unknown, key: string | undefined) => unknown;

/** Returns a JSON value with the credentials in its strings replaced; the same object where there are none. */
export function redactValue(value: unknown, found: Found): unknown {
  const count = (kind: CredentialKind) => void found.set(kind, (found.get(kind) ?? 0) + 1);

  /** Redacts a message, a part, an event or an agent, except its structural fields. */
  const redactRecord: Walk = (record, key) => {
    if (!isFields(record)) return mapItems(record, key, redactRecord) ?? redactFree(record, key);
    return mapFields(record, (item, name) => {
      if ((STRUCTURAL.has(name) && typeof item === "string") || isMedia(record, name)) return item;
      return (RECORDS.has(name) ? redactRecord : walkOf(name))(item, name);
    });
  };

  /** Redacts what users, models and tools wrote: every string. */
  const redactFree: Walk = (item, key) => {
    if (typeof item === "string") {
      return key === undefined ? redactCredentials(item, count) : redactField(key, item, count);
    }
    if (!isFields(item)) return mapItems(item, key, redactFree) ?? item;
    return mapFields(
      item,
      (inner, name) => isMedia(item, name) ? inner : walkOf(name)(inner, nameOf(item, name)),
    );
  };

  const redactOpaque: Walk = (item) => {
    if (typeof item === "string") return redactCredentials(item, count, { withoutEntropy: true });
    return isFields(item) ? mapFields(item, redactOpaque) : mapItems(item, undefined, redactOpaque) ?? item;
  };

  const walkOf = (name: string) => OPAQUE.has(name) || ENCRYPTED.test(name) ? redactOpaque : redactFree;

  return redactRecord(value, undefined);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a field is the content of an image or a file, not a URL or a text. */
function isMedia(part: Fields, name: string): boolean {
  if (name !== "data" && name !== "image") return false;
  const item = part[name];
  return typeof item === "string" && typeof part.type === "string" && MEDIA.test(part.type) &&
    BASE64.test(item);
}

/** Returns the name of a field's value; for `{"name": "DB_PASSWORD", "value": "…"}`, the other field's value. */
function nameOf(fields: Fields, name: string): string {
  const other = name === "value" ? fields.name ?? fields.key : undefined;
  return typeof other === "string" ? other : name;
}

/** Maps items; returns the same array if none changes, undefined for other values. `passwords` names each item. */
function mapItems(value: unknown, key: string | undefined, walk: Walk): unknown[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const name = key?.replace(/s$/, "");
  const items = value.map((item) => walk(item, name));
  return items.some((item, i) => item !== value[i]) ? items : value;
}

/** Maps fields; returns the same object if none changes. */
function mapFields(value: Fields, walk: (item: unknown, name: string) => unknown): Fields {
  const entries = Object.entries(value).map(([name, item]) => [name, walk(item, name)] as const);
  return entries.some(([name, item]) => item !== value[name]) ? Object.fromEntries(entries) : value;
}
