import { AGENTS, defineAgent, removeAgent, storedAgent, toAgentDefinition } from "../../agents/mod.ts";
import { createRule, decideBooked, removeRule, RULES, toAuthoredRule, updateRule } from "../../alerts/mod.ts";
import {
  BUDGETS,
  createBudget,
  removeBudget,
  toAuthoredRow,
  updateBudget,
  withKnownNames,
} from "../../budgets/mod.ts";
import {
  type Applied,
  type ApplyBody,
  definedName,
  type SECTIONS,
} from "../../contract/definitions/definitions.ts";
import { ApiKeyChanges } from "../../contract/keys.ts";
import type { AuditKind } from "../../contract/values.ts";
import { sha256Hex } from "../../kernel/encoding.ts";
import { invalidField, PurserError } from "../../kernel/errors.ts";
import { isRecord } from "../../kernel/records.ts";
import { changeKey, createKey, KEYS, type NewKey, revokeKey, statusOf } from "../../keys/mod.ts";
import { PRICES, removePrice, setPrice, toPriceRow } from "../../price_rows/mod.ts";
import { changesOf, type Query, replaceState, type Statement } from "../../store/mod.ts";
import type { Core } from "../core.ts";

/**
 * Applies a file of definitions: budgets, rules, keys, agents and prices, by their names. One commit has the statements that a request
 * for each of them would commit, so all of the file takes effect or nothing.
 */

type Section = typeof SECTIONS[number];
type InputOf<In extends Section> = NonNullable<ApplyBody[In]>[number];
type Fields = Record<string, unknown>;

/** A core that collects statements instead of committing them, with the ids of the keys that are new, by name, and the file's prices. */
type Draft = Core & { newKeys: Map<string, string>; newPrices: ApplyBody["prices"] };

/** The rows of a kind that a file has a section of, and the functions that change them. */
interface Kind<Row, Input> {
  section: Section;
  table: {
    kind: AuditKind;
    show(row: Row): object;
    idOf(row: Row): string;
    readNamed(query: Query, names: readonly string[], ids: readonly string[]): Promise<Row[]>;
  };
  /** Returns false for a row that is over, such as a revoked key. */
  isLive?(row: Row): boolean;
  /** Returns the fields of a definition with their defaults, as `show` has them. */
  want(draft: Draft, input: Input, current: Row | undefined): object | Promise<object>;
  /** Returns the new id. */
  create(draft: Draft, input: Input): Promise<string>;
  /** Changes a row to the definition; `changed` has the fields that differ, as they are. */
  change(draft: Draft, id: string, to: { input: Input; fields: Fields; changed: Fields }): Promise<unknown>;
  remove(draft: Draft, id: string): Promise<unknown>;
}

const asKind = <In extends Section, Row>(section: In, kind: Omit<Kind<Row, InputOf<In>>, "section">) =>
  ({ section, ...kind }) as unknown as Kind<unknown, unknown>;

function toNewKey(input: InputOf<"keys">): NewKey {
  const { agent_id, stop_before_credits, models = null, ...rest } = input;
  const more = { agentId: agent_id ?? null, stopBeforeCredits: stop_before_credits ?? false };
  return { ...rest, ...more, models, expiresAt: null };
}

function toDefinition({ models, toolbox }: Core, input: InputOf<"agents">) {
  return toAgentDefinition(input.name, input, {
    checkModel: (model) => models.check(model),
    checkTools: (tools) => toolbox.check(tools),
  });
}

/** The kinds, in the order in which they are changed: budgets may name keys of the same file. */
const kindsOf = (now: number) => [
  asKind("keys", {
    table: KEYS,
    isLive: (row) => statusOf(row, now) === "active",
    want(_, input, current) {
      const expiresAt = current?.expiresAt ?? null; // no field of a file
      return KEYS.show({ ...current!, ...toNewKey(input), models: input.models ?? null, expiresAt } as never);
    },
    async create(draft, input) {
      const { key_id, name, key } = await createKey(draft, toNewKey(input));
      draft.newKeys.set(name, key_id);
      collected.get(draft)!.newKeys.push({ key_id, name, key });
      return key_id;
    },
    change(draft, id, { input, changed }) {
      const fixed = Object.keys(changed).find((field) => !Object.hasOwn(ApiKeyChanges.shape, field));
      if (fixed === undefined) {
        const { stopBeforeCredits, tags } = toNewKey(input);
        return changeKey(draft, id, { stopBeforeCredits, tags });
      }
      const state = `is ${JSON.stringify(changed[fixed])} of the key that is there, and can't change`;
      throw invalidField(fixed, `${state}; write that, or use another name`);
    },
    remove: revokeKey,
  }),
  asKind("agents", {
    table: AGENTS,
    want: (draft, input) => AGENTS.show({ ...storedAgent(draft, toDefinition(draft, input)) } as never),
    create: async (draft, input) => (await defineAgent(draft, toDefinition(draft, input))).agent.agent_id,
    change: (draft, _, { input }) => defineAgent(draft, toDefinition(draft, input)),
    remove: removeAgent,
  }),
  asKind("budgets", {
    table: BUDGETS,
    want: async (draft, input, current) =>
      BUDGETS.show(toAuthoredRow(await withKnownNames(draft, input, current?.scope), draft) as never),
    create: async (draft, input) => (await createBudget(draft, input)).budget_id,
    change: (draft, id, { fields }) => updateBudget(draft, id, fields),
    remove: removeBudget,
  }),
  asKind("rules", {
    table: RULES,
    want: async (draft, input, current) =>
      RULES.show(toAuthoredRule(await withKnownNames(draft, input, current?.scope), draft) as never),
    create: async (draft, input) => (await createRule(draft, input)).rule_id,
    change: (draft, id, { fields }) => updateRule(draft, id, fields),
    remove: removeRule,
  }),
  asKind("prices", {
    table: PRICES,
    want: async (_, input) => PRICES.show(await toPriceRow(input, now)),
    create: async (draft, input) => (await setPrice(draft, input)).price.price_id,
    change: (draft, _, { input }) => setPrice(draft, input),
    remove: removePrice,
  }),
];

type Change = Applied["changes"][number];

/**
 * Changes budgets, rules, keys, agents and prices to the definitions of a file, in one commit. What is in effect already stays as it is.
 * With `dry_run` it only returns what would change.
 *
 * @throws {PurserError} `invalid`, naming the field; `conflict` if something else would change than `plan` says
 */
export async function applyDefinitions(core: Core, body: ApplyBody): Promise<Applied> {
  const { label, dry_run = false } = body;
  return await replaceState("what the file defines", async () => {
    const draft = draftOf(core, body);
    const { changes, unchanged } = await draftChanges(draft, body);
    // The ids of what is new are others each time.
    const plan = await sha256Hex(
      JSON.stringify(changes.map((change) => change.action === "created" ? { ...change, id: null } : change)),
    );
    if (body.plan !== undefined && body.plan !== plan) {
      throw new PurserError(
        "conflict",
        "Cannot apply the file: by now it would change something else than was shown; nothing was changed",
      );
    }
    const result = { label, dry_run, plan, changes, unchanged };
    if (dry_run) {
      for (const change of changes) if (change.action === "created") change.id = null;
      return { ...result, new_keys: [] };
    }
    const { statements, newKeys } = collected.get(draft)!;
    if (changes.length === 0) return { ...result, new_keys: [] };
    // Alerts of calls before are fired, and announced, by the rules as they are.
    if (changes.some(({ kind }) => kind === "rule")) await decideBooked(core);
    await core.store.write(statements);
    core.budgets.changed();
    core.keyCache.clear();
    await core.prices.refresh();
    if (newKeys.length > 0) core.keyCache.recordCreation();
    return { ...result, new_keys: newKeys };
  });
}

/** Adds the statements of all changes to a draft. */
async function draftChanges(
  draft: Draft,
  body: ApplyBody,
): Promise<{ changes: Change[]; unchanged: number }> {
  const changes: Change[] = [];
  let unchanged = 0;
  // A change names a key that is new, which has an id only once it is made.
  const named: Draft = { ...draft, newKeys: new Map() };
  for (const { section, table, isLive = () => true, ...kind } of kindsOf(draft.clock.now())) {
    const inputs = (body[section] ?? []) as readonly Parameters<typeof definedName>[0][];
    const names = inputs.map(definedName);
    const created = body.prune ? await readCreated(draft, table.kind, body.label) : [];
    const rows = (await table.readNamed(draft.query, names, created)).filter(isLive);
    const shown = rows.map((row) => ({ row, id: table.idOf(row), fields: table.show(row) as Fields }));
    for (const [index, input] of inputs.entries()) {
      const name = names[index]!;
      const path = `${section}[${index}]`;
      const [current, ...others] = shown.filter(({ fields }) => fields.name === name);
      if (others.length > 0) {
        throw invalidField(
          `${path}.name`,
          `${others.length + 1} ${section} have it; rename or remove all but one`,
        );
      }
      await within(path, async () => {
        const fields = await kind.want(named, input, current?.row) as Fields;
        const difference = changesOf(current?.fields, fields);
        if (!difference) return unchanged++;
        const changed = difference.before as Fields;
        if (current) await kind.change(draft, current.id, { input, fields, changed });
        const id = current?.id ?? await kind.create(draft, input);
        if (!current && section === "keys") named.newKeys.set(name, name);
        changes.push({ kind: table.kind, name, id, ...difference });
      });
    }
    for (const { id, fields } of shown) {
      if (names.includes(String(fields.name)) || !created.includes(id)) continue;
      const difference = changesOf(fields, undefined, section === "keys" ? "revoked" : undefined)!;
      await kind.remove(draft, id);
      changes.push({ kind: table.kind, name: String(fields.name), id, ...difference });
    }
  }
  return { changes, unchanged };
}

// The name of an agent, or the id of a budget in code, may have been created again, by someone else.
const CREATED = `SELECT subject_id FROM audit_entries c WHERE label = ?1 AND kind = ?2 AND action = 'created'
  AND NOT EXISTS (SELECT 1 FROM audit_entries l WHERE l.subject_id = c.subject_id AND l.kind = c.kind
    AND l.action = 'created' AND l.position > c.position)`;

/** Returns the ids of what files of a label have created. */
async function readCreated(
  { store }: Pick<Core, "store">,
  kind: AuditKind,
  label: string,
): Promise<string[]> {
  const { rows } = await store.read({ sql: CREATED, args: [label, kind] });
  return rows.map(([id]) => id as string);
}

/** Does the work for one definition; an error names its place in the file. */
async function within<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PurserError) || error.code !== "invalid") throw error;
    const { issues } = (error.details ?? {}) as { issues?: unknown };
    const [issue] = Array.isArray(issues) && isRecord(issues[0]) ? issues : [undefined];
    if (!issue) throw invalidField(path, error.message);
    throw invalidField(`${path}.${issue.path}`, String(issue.message));
  }
}

const collected = new WeakMap<Draft, { statements: Statement[]; newKeys: Applied["new_keys"] }>();

function draftOf(core: Core, { label, prices: newPrices }: ApplyBody): Draft {
  const { store } = core;
  const statements: Statement[] = [];
  const seen = new Set<string>();
  const draft: Draft = {
    ...core,
    author: { ...core.author, label },
    newKeys: new Map(),
    newPrices,
    budgets: Object.assign(Object.create(core.budgets), { changed() {} }),
    prices: Object.assign(Object.create(core.prices), { refresh: () => Promise.resolve(false) }),
    keyCache: Object.assign(Object.create(core.keyCache), { clear() {}, recordCreation() {} }),
    store: {
      ...{ kind: store.kind, engine: store.engine, isShared: store.isShared, schema: store.schema },
      ...{ instances: store.instances, writes: store.writes },
      read: (statement) => store.read(statement),
      readLong: (statement) => store.readLong(statement),
      readAll: (all) => store.readAll(all),
      write(all) {
        // Each change of a rule first decides the calls before it: once is enough.
        for (const statement of all) {
          const key = `${statement.sql}\n${statement.args}`;
          if (!seen.has(key)) statements.push(statement);
          seen.add(key);
        }
        return Promise.resolve(all.map(() => ({ columns: [], rows: [] })));
      },
      writeInSet: (writer, item) => store.writeInSet(writer, item),
      freeBytes: () => store.freeBytes(),
      close: () => Promise.resolve(),
    },
  };
  collected.set(draft, { statements, newKeys: [] });
  return draft;
}
