import type { BudgetInput } from "../contract/budgets/budgets.ts";
import type { UnknownName } from "../contract/budgets/budget_state.ts";
import type { PriceOverride } from "../contract/price_override.ts";
import { dimension } from "../contract/costs/dimensions.ts";
import type { Clock } from "../kernel/clock.ts";
import { invalidField } from "../kernel/errors.ts";
import { isSlipOf, nearestName } from "../kernel/nearest_name.ts";
import type { LazyPriceBook } from "../pricing/mod.ts";
import { findKey } from "../keys/mod.ts";
import {
  ALL_CALLS,
  type Counted,
  counterIn,
  DECIDED_POSITION,
  entityOf,
  idInScope,
  isScopeBy,
  isScopeOf,
  keyScopeIn,
  scopeOf,
  scopeSql,
  shapeIn,
  tailEntries,
} from "../ledger/mod.ts";
import { indexedBy, isAfter, matchesPattern, type Store } from "../store/mod.ts";

/*
 * The names in budgets and rules. Keys exist before they are named, so an unknown one is refused. Agents and sessions begin with
 * their first call, and may be named before: an agent that is a slip of a known one is refused, others that look misspelled are pointed out.
 */

type StoreContext = { store: Pick<Store, "read"> };

/** The parts of a process by which the names in budgets and rules are checked. */
export interface NamingContext extends StoreContext {
  clock: Pick<Clock, "now">;
  prices: Pick<LazyPriceBook, "inUse">;
  /** The ids of the keys that the same commit creates, by name, and the prices that it sets. */
  newKeys?: ReadonlyMap<string, string>;
  newPrices?: readonly PriceOverride[] | undefined;
}

/**
 * Checks the names in the fields of a budget or a rule, and returns the fields with the id of the key that they name by its name or
 * id. `current` is the scope that it has already: a key that was revoked since is left there, and so is a pattern.
 *
 * @throws {PurserError} `invalid`, naming the field, for a key that is not known, not the only one of its name, or revoked, for a
 * pattern that matches no model, and for an agent whose name is a slip of a known one
 */
export async function withKnownNames<
  Fields extends Pick<Partial<BudgetInput>, "agent_id" | "key_id" | "model">,
>(
  ctx: NamingContext,
  fields: Fields,
  current?: string,
): Promise<Fields> {
  const pattern = fields.model;
  const kept = current && isScopeBy(current) ? shapeIn(current).split(",") : [];
  if (pattern?.includes("*") && !kept.includes(`model~${pattern}`)) await checkPattern(ctx, pattern);
  if (fields.agent_id != null && !ctx.newKeys?.has(fields.agent_id)) {
    await checkAgent(ctx, fields.agent_id, current);
  }
  if (fields.key_id == null) return fields;
  const newKey = ctx.newKeys?.get(fields.key_id);
  if (newKey !== undefined) return { ...fields, key_id: newKey };
  const { keyId, name, status } = await findKey(ctx, fields.key_id);
  if (status === "revoked" && scopeOf("key", keyId) !== (current && keyScopeIn(current))) {
    throw invalidField(
      "key_id",
      `the API key ${JSON.stringify(name)} (${keyId}) was revoked, so that no call would count`,
    );
  }
  return { ...fields, key_id: keyId };
}

async function checkAgent(ctx: StoreContext, agentId: string, current: string | undefined): Promise<void> {
  const scope = scopeOf("agent", agentId);
  if (current === scope || current && isScopeBy(current) && current.split(" ").includes(agentId)) return;
  const nearest = (await findUnknown(ctx, [scope])).get(scope)?.nearest;
  if (!nearest || !isSlipOf(agentId, nearest)) return;
  const state = `no agent has the name ${JSON.stringify(agentId)}; did you mean ${JSON.stringify(nearest)}?`;
  throw invalidField(
    "agent_id",
    `${state} A new one is defined first, by purser agents set, or makes a call`,
  );
}

const isOfPattern = (provider: string, model: string) =>
  `${matchesPattern(model, "?1")} OR ${matchesPattern(`${provider} || ':' || ${model}`, "?1")}`;
const MATCHED = `SELECT 1 WHERE EXISTS (SELECT 1 FROM total_usage u WHERE ${
  isOfPattern("u.provider", "u.model")
})
  OR EXISTS (${tailEntries("1", `(${isOfPattern("provider", "model")})`)})
  OR EXISTS (SELECT 1 FROM agents a WHERE ${matchesPattern("a.model", "?1")})
  OR EXISTS (SELECT 1 FROM json_each(?2) p WHERE ${matchesPattern("p.value", "?3")}
    OR ${matchesPattern("substr(p.value, instr(p.value, ':') + 1)", "?4")})`;

const modelIn = (name: string) => name.slice(name.indexOf(":") + 1);

/** Refuses a pattern that matches no model that has a price, that has been called, or that an agent is defined with: it is misspelled. */
async function checkPattern({ store, prices, newPrices }: NamingContext, pattern: string): Promise<void> {
  const { listPriced, providerIdOf } = await import("../pricing/show/mod.ts");
  const priced = listPriced(await prices.inUse(), newPrices);
  const lower = pattern.toLowerCase();
  const model = modelIn(lower);
  // The prices have one name of a provider, and calls may have another.
  const ofId = model === lower ? lower : `${providerIdOf(lower.slice(0, -model.length - 1))}:${model}`;
  const args = [pattern, JSON.stringify(priced), ofId, lower];
  if ((await store.read({ sql: MATCHED, args })).rows.length > 0) return;
  const nearest = nearestName(model.replaceAll("*", ""), priced.map(modelIn));
  const hint = nearest ? `, the nearest is ${priced.find((name) => modelIn(name) === nearest)}` : "";
  const state = `no model with a price or a call matches the pattern ${JSON.stringify(pattern)}${hint}`;
  throw invalidField("model", `${state}; name a new model without a star, or set its price first`);
}

/** Queries for the scopes that are defined: those that have spent nothing yet have a counter too. */
export const DEFINED: Partial<Record<Counted, string>> = {
  agent: `SELECT ${scopeSql("agent", "agent_id")} FROM agents`,
  key: `SELECT ${scopeSql("key", "key_id")} FROM api_keys WHERE revoked_at IS NULL`,
};

/** The most names among which the nearest one is searched. */
const MAX_NAMES = 2_000;

/** The dimensions whose names are checked: where one is known, as a condition on its id, and all of them, as a query. */
const KNOWN: Partial<Record<Counted, { where: (id: string) => string; names: string }>> = {
  key: {
    where: (id) => `EXISTS (SELECT 1 FROM api_keys k WHERE k.key_id = ${id})`,
    names: `SELECT key_id FROM api_keys ORDER BY created_at DESC LIMIT ${MAX_NAMES}`,
  },
  session: {
    where: (id) =>
      `EXISTS (SELECT 1 FROM sessions s WHERE s.session_id = ${id})
      OR EXISTS (SELECT 1 FROM calls c ${indexedBy("calls_by_session")} WHERE c.session_id = ${id})`,
    names:
      `SELECT * FROM (SELECT session_id FROM usage_sessions ORDER BY last_at DESC LIMIT ${MAX_NAMES}) newest
UNION SELECT session_id FROM (${tailEntries("session_id", "session_id IS NOT NULL")}) later LIMIT ${
        2 * MAX_NAMES
      }`,
  },
  agent: {
    // An agent of the gateway has the name of its key.
    where: (id) =>
      `EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = ${id})
      OR EXISTS (SELECT 1 FROM total_usage u WHERE u.agent_id = ${id})
      OR EXISTS (SELECT 1 FROM sessions s ${indexedBy("sessions_of_agent")} WHERE s.agent_id = ${id})
      OR EXISTS (SELECT 1 FROM api_keys k WHERE (k.agent_id = ${id} OR k.name = ${id}) AND k.revoked_at IS NULL)`,
    names:
      `SELECT agent_id FROM (SELECT agent_id FROM agents UNION SELECT agent_id FROM total_usage) agents LIMIT ${MAX_NAMES}`,
  },
};

const UNKNOWN = `SELECT j.value FROM json_each(?1) j WHERE CASE ${
  Object.entries(KNOWN).map(([name, { where }]) => {
    const kind = name as Counted;
    return `WHEN ${isScopeOf(kind, "j.value")} THEN NOT (${where(idInScope(kind, "j.value"))})`;
  }).join("\n  ")
} END`;

const SHAPED_TAIL = `call_scopes c WHERE ${isAfter(DECIDED_POSITION, "c.position")}`;
const UNSPENT = `SELECT j.value FROM json_each(?1) j
WHERE NOT EXISTS (SELECT 1 FROM spend_counters w WHERE w.kind = 'lifetime' AND w.scope = j.value AND w.start = 0)
  AND NOT EXISTS (SELECT 1 FROM ${SHAPED_TAIL} AND c.cost_nano_usd <> 0 AND c.scope = j.value)`;
const NEAR = `SELECT scope FROM (SELECT scope FROM spend_counters WHERE kind = 'lifetime' UNION
  SELECT c.scope FROM ${SHAPED_TAIL}) spent WHERE scope >= ?1 AND scope < ?2 LIMIT ${MAX_NAMES}`;

const BORNE =
  `SELECT tags FROM api_keys WHERE revoked_at IS NULL AND tags IS NOT NULL ORDER BY created_at DESC LIMIT ${MAX_NAMES}`;

/** Returns the scopes of subjects for which nothing has been spent, and that no key has as its tag; of one subject, with the nearest one that has spending. */
async function findUnspent(
  { store }: StoreContext,
  scopes: readonly string[],
): Promise<Map<string, UnknownName>> {
  const ofSubjects = scopes.filter(isScopeBy);
  if (ofSubjects.length === 0) return new Map();
  const { rows } = await store.read({ sql: UNSPENT, args: [JSON.stringify(ofSubjects)] });
  const unspent = new Map<string, UnknownName>();
  const borne = rows.length === 0 ? [] : (await store.read({ sql: BORNE })).rows
    .map(([tags]) => JSON.parse(tags as string) as Record<string, string>);
  for (const [scope] of rows as [string][]) {
    const { kind, id } = counterIn(scope)!;
    const prefix = scope.slice(0, scope.lastIndexOf(" "));
    const isOfOne = scope.split(" ").length === 3;
    const ofKeys = isOfOne && kind.startsWith("tag:")
      ? borne.flatMap((tags) => tags[kind.slice("tag:".length)] ?? [])
      : [];
    // The calls of a key will have its tags.
    if (ofKeys.includes(id)) continue;
    const others = isOfOne ? (await store.read({ sql: NEAR, args: [`${prefix} `, `${prefix}!`] })).rows : [];
    const spent = others.map(([other]) => counterIn(other as string)!.id);
    const nearest = nearestName(id, [...spent, ...ofKeys]) ?? null;
    unspent.set(scope, { kind, id, nearest });
  }
  return unspent;
}

/**
 * Returns the scopes among some that are probably misspelled: there is nothing of them here, and a known name is near. With
 * `all` those without a near name too, which may be new.
 */
export async function findUnknown(
  { store }: StoreContext,
  scopes: readonly string[],
  { all = false } = {},
): Promise<Map<string, UnknownName>> {
  const named = [...new Set(scopes)].filter((scope) => scope !== ALL_CALLS);
  if (named.length === 0) return new Map();
  const { rows } = await store.read({ sql: UNKNOWN, args: [JSON.stringify(named)] });
  const known = new Map<string, string[]>();
  const unknown = await findUnspent({ store }, named);
  for (const [scope] of rows as [string][]) {
    const { kind, id } = entityOf(scope)!;
    if (!known.has(kind)) {
      known.set(kind, (await store.read({ sql: KNOWN[kind]!.names })).rows.map(([name]) => name as string));
    }
    const nearest = nearestName(id, known.get(kind)!) ?? null;
    // A new agent or session may be named before its first call.
    if (all || nearest !== null || dimension(kind).nameField !== undefined) {
      unknown.set(scope, { kind, id, nearest });
    }
  }
  return unknown;
}
