import { findUnknown, listBudgets } from "../../budgets/mod.ts";
import type { Budget } from "../../contract/budgets/budgets.ts";
import { nameFieldOf, type NameFields } from "../../contract/costs/dimensions.ts";
import { describeScope } from "../../contract/budgets/subjects.ts";
import type { UnknownName } from "../../contract/budgets/budget_state.ts";
import { nameField, readNames } from "../../keys/mod.ts";
import { entityOf, keyScopeIn } from "../../ledger/mod.ts";
import type { Core } from "../core.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** The number of budgets whose state is read: the oldest enabled ones. */
const READ = 100;

const COUNT = "SELECT count(*), coalesce(sum(enabled), 0) FROM budgets";

/** The most budgets and rules whose names are checked, and the most that a finding lists. */
const CHECKED = 5_000;
const NAMED = 3;

const SCOPES = {
  budgets: `SELECT name, scope FROM budgets WHERE enabled = 1 AND scope <> ''
ORDER BY created_at, budget_id LIMIT ${CHECKED}`,
  alert_rules: `SELECT name, scope FROM alert_rules WHERE enabled = 1 AND scope <> ''
ORDER BY created_at, rule_id LIMIT ${CHECKED}`,
};

/** A budget or rule that counts no calls, since nothing has the name that it is for. */
export interface Misnamed {
  /** Such as `Day is for agent helpr, of which there is nothing`. */
  text: string;
  name: string;
  /** The option that names the right one, such as `--agent helper`. */
  option?: string;
}

/** Returns the enabled budgets, or rules, that name an agent, a session or a key of which there is nothing, or a revoked key. */
export async function findMisnamed(
  { store }: Pick<Core, "store">,
  table: keyof typeof SCOPES,
): Promise<Misnamed[]> {
  const { rows } = await store.read({ sql: SCOPES[table] });
  const scopes = [...new Set(rows.map(([, scope]) => scope as string))];
  if (scopes.length === 0) return [];
  const unknown = await findUnknown({ store }, scopes, { all: true });
  const names = await readNames({ store }, scopes);
  return rows.flatMap(([name, scope]) => {
    const found = unknown.get(scope as string);
    const keyScope = keyScopeIn(scope as string) ?? "";
    const { kind, id } = entityOf(keyScope) ?? {};
    const described = names.revoked?.has(keyScope)
      ? { text: `${kind} ${names.get(keyScope)} (${id}), which was revoked`, option: `--${kind} NAME` }
      : found && describe(found, nameField(names, keyScope));
    return described
      ? [{ ...described, name: name as string, text: `${name} is for ${described.text}` }]
      : [];
  });
}

function describe(
  { kind, id, nearest }: UnknownName,
  names: NameFields,
): Pick<Misnamed, "text" | "option"> {
  // Of several subjects it isn't known which one is misspelled.
  if (kind === "calls") {
    return {
      text: `${describeScope({ scope: id, ...names, key_user: undefined })}, of which there are no calls`,
    };
  }
  const missing = nameFieldOf(kind) ? "which doesn't exist" : "of which there is nothing";
  return {
    text: `${kind} ${id}, ${missing}`,
    option: kind.startsWith("tag:")
      ? `--tag ${kind.slice(4)}=${nearest ?? "VALUE"}`
      : `--${kind} ${nearest ?? "NAME"}`,
  };
}

/** Says how the right name is set. */
export function remedyOf(group: "budgets" | "alerts", { name, option }: Misnamed): string {
  if (option === undefined) return `Check its names: purser ${group} show ${quote(name)}`;
  const kind = option.slice(2).split(" ")[0];
  return `Check the ${kind}'s name: purser ${group} set ${quote(name)} ${option}`;
}

/** Lists the texts of the first few. */
export function listMisnamed(misnamed: readonly Misnamed[]): string[] {
  const others = misnamed.length > NAMED ? ["others as well"] : [];
  return [...misnamed.slice(0, NAMED).map(({ text }) => text), ...others];
}

/** Counts the budgets, and names those that are reached, that refuse nothing, and that name what doesn't exist. */
export async function checkBudgetStates(
  ctx: Pick<Core, "store" | "query" | "clock" | "turns">,
): Promise<Finding> {
  const { rows: counts } = await ctx.store.read({ sql: COUNT });
  const [all, enabled] = counts[0]!.map(Number) as [number, number];
  if (all === 0) return ok("none yet; purser budgets add makes one");
  const misnamed = await findMisnamed(ctx, "budgets");
  const budgets = await listBudgets(ctx, { isEnabled: true, limit: READ });
  const reached = budgets.filter(({ state, action }) => state === "reached" && action !== "watch");
  const watching = budgets.filter(({ action }) => action === "watch");
  const state = [
    `${enabled} enabled, ${all - enabled} disabled`,
    ...(watching.length === 0
      ? []
      : [`${namesOf(watching)} only ${watching.length === 1 ? "watches" : "watch"}`]),
    ...(reached.length === 0 ? [] : [`reached, so that calls are refused: ${namesOf(reached)}`]),
    ...listMisnamed(misnamed),
  ].join("; ");
  const [first] = misnamed;
  const remedies = [
    ...(reached.length === 0 ? [] : [
      `See purser budgets list; then purser budgets raise ${reached[0]!.budget_id} --usd AMOUNT${
        reached[0]!.counter ? ` --counter ${quote(reached[0]!.counter.id)}` : ""
      }`,
    ]),
    ...(first ? [remedyOf("budgets", first)] : []),
  ];
  return remedies.length === 0 ? ok(state) : warning(state, remedies.join(". "));
}

/** Quotes a name for a shell, if it needs quotes. */
export function quote(name: string): string {
  return /^[\w.:-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function namesOf(budgets: readonly Budget[]): string {
  const more = budgets.length > 3 ? ` and ${budgets.length - 3} more` : "";
  return `${budgets.slice(0, 3).map(({ name }) => name).join(", ")}${more}`;
}
