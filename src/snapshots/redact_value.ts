import { type CredentialKind, redactCredentials, redactField } from "../redaction/mod.ts";

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
