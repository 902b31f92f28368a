import { createHash } from "node:crypto";
import { NAME_PATTERN } from "../../kernel/ids.ts";
import { describeSubject, subjectText } from "../../contract/budgets/subjects.ts";
import {
  COUNTED,
  dimension,
  DIMENSIONS,
  type DimensionWith,
  type NameFields,
  nameOfValue,
} from "../../contract/costs/dimensions.ts";
import { isScopeBy, subjectsIn, valueIn } from "./subjects.ts";

/*
 * A scope is the set of calls that a counter, a budget or a rule adds up. Databases keep it as a text: '' for all calls, the id of
 * an agent, or `session ID`, `key ID` or `run ID`. The id of an agent has no blank. These texts are made and taken apart
 * here only, and by scope_sql.ts in SQL; those of several subjects, `by SHAPE VALUE …`, in subjects.ts.
 */

/** The dimensions that have scopes. */
export type Counted = DimensionWith<"counter">;

/** The scope of all calls. */
export const ALL_CALLS = "";

/**
 * The agent, session, run and key of a call, in whose counters it counts; `rootSessionId`: the session at the root of its tree, where
 * that is another one than its own.
 */
export type Scopes =
  & { agentId: string; sessionId: string | null; runId: string | null; rootSessionId?: string | null }
  & { [Name in Counted as (typeof DIMENSIONS)[Name]["property"]]?: string | null };

const PROPERTIES = recordOf<keyof Scopes>((kind) => DIMENSIONS[kind].property);

/** The texts with which the scopes of a dimension begin. */
export const PREFIXES = recordOf((kind) => kind === "agent" ? "" : `${kind} `);

function recordOf<Value>(valueOf: (kind: Counted) => Value): Record<Counted, Value> {
  return Object.fromEntries(COUNTED.map((kind) => [kind, valueOf(kind)])) as Record<Counted, Value>;
}

/** Returns the scope of one agent, session, run or key. */
export const scopeOf = (kind: Counted, id: string): string => PREFIXES[kind] + id;

/** Returns the scope of a call in a dimension; null for a call that has none. */
export function scopeIn(kind: Counted, call: Partial<Scopes>): string | null {
  const id = call[PROPERTIES[kind]];
  return id == null ? null : PREFIXES[kind] + id;
}

/** Returns the scopes of a call, as an object that has nothing else. */
export function scopesOf(call: Scopes): Scopes {
  const scopes: Partial<Scopes> = {};
  for (const kind of COUNTED) scopes[PROPERTIES[kind]] = (call[PROPERTIES[kind]] ?? null) as string;
  if (call.rootSessionId) scopes.rootSessionId = call.rootSessionId;
  return scopes as Scopes;
}

/** Returns the scopes of a row as fields of the wire format; null for those that it has none of. */
export const scopeFields = (row: { [Property in keyof Scopes]?: string | null }) =>
  Object.fromEntries(COUNTED.map((kind) => [DIMENSIONS[kind].field, row[PROPERTIES[kind]] ?? null])) as {
    [Name in Counted as (typeof DIMENSIONS)[Name]["field"]]: string | null;
  };

/** Returns the root of the tree of a call: of a session that no other one has started, the session itself; null without a session. */
export const treeOf = ({ rootSessionId, sessionId }: Partial<Pick<Scopes, "rootSessionId" | "sessionId">>) =>
  rootSessionId ?? sessionId ?? null;

/** Returns the dimension and the id of a scope; undefined for all calls, and for a scope of subjects: see `counterIn()`. */
export function entityOf(scope: string): { kind: Counted; id: string } | undefined {
  if (scope === ALL_CALLS || isScopeBy(scope)) return undefined;
  const blank = scope.indexOf(" ");
  if (blank === -1) return { kind: "agent", id: scope };
  return { kind: scope.slice(0, blank) as Counted, id: scope.slice(blank + 1) };
}

/**
 * Returns the kind and the id of a scope as people are shown it, by the part that a budget has a counter for each value of: without
 * one, several subjects are of the kind `calls`. Undefined for all calls.
 */
export function counterIn(
  scope: string,
  each: string | null = null,
): { kind: string; id: string } | undefined {
  if (!isScopeBy(scope)) return entityOf(scope);
  if (each !== null) return { kind: each, id: valueIn(scope, each) };
  const subjects = subjectsIn(scope);
  return subjects.length === 1 ? describeSubject(subjects[0]!) : { kind: "calls", id: scopeText(scope) };
}

/**
 * Returns the text of a scope: `all`, `agent researcher`, `session ses_…`, `provider openai, tag customer=acme`; with the names of
 * values instead of their ids, and without persons.
 */
export function scopeText(scope: string, { key_user: _person, ...names }: NameFields = {}): string {
  if (isScopeBy(scope)) {
    return subjectsIn(scope).map((subject) => subjectText(subject, names)).join(", ");
  }
  const entity = entityOf(scope);
  return entity ? `${entity.kind} ${nameOfValue(entity, names)}` : "all";
}

/** Scopes of subjects come after keys and before agents. */
const SUBJECTS_WIDTH = 2.5;

/** Returns a number by which scopes are sorted, those that add up the fewest calls first. */
export function widthOf(scope: string): number {
  if (isScopeBy(scope)) return SUBJECTS_WIDTH;
  const entity = entityOf(scope);
  return entity ? dimension(entity.kind).width! : Infinity;
}

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Returns a text without its colons, with a hash, so that different texts stay different. */
const withoutColons = (text: string) => `${text.replaceAll(":", "-")}-${hashOf(text)}`;

/**
 * Returns the name of a session or run of an API key of one agent: `AGENT_ID:NAME` with no colon in the name, since agents may have
 * colons in theirs. So no key adds to what is another agent's.
 */
export function nameAfter(agentId: string, id: string): string {
  const name = id.startsWith(`${agentId}:`) ? id.slice(agentId.length + 1) : id;
  return toName(`${agentId}:${name.includes(":") ? withoutColons(name) : name}`);
}

/** Returns a text as an id: unchanged where it is one, else what is left of it with a hash, so that different texts stay different. */
export function toName(text: string): string {
  if (NAME_PATTERN.test(text)) return text;
  const hash = hashOf(text);
  const kept = text.replace(/[^A-Za-z0-9._:-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 80);
  return kept === "" ? hash : `${kept}-${hash}`;
}
