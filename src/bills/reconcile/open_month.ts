import { toProviderName } from "../../contract/costs/provider_names.ts";
import { startOf } from "../../contract/windows.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import { type BilledUpstream, readBilledUpstreams } from "../../ledger/mod.ts";
import { type Query, type SqlValue, type Store, toObjects } from "../../store/mod.ts";
import type { BillTerms } from "../sources/bill_terms.ts";
import { DIMENSIONS, type Grain, matchModels } from "./dimensions.ts";
import type { Setup } from "./reconciler.ts";

/** The bill to compare. */
export interface BilledMonth {
  terms: BillTerms;
  /** Undefined for all accounts. */
  account: string | undefined;
  /** `YYYY-MM`, of UTC. */
  month: string;
}

/** All that is read before the days of a month. */
export interface OpenMonth {
  setup: Setup;
  providers: readonly string[] | undefined;
  upstreams: ReadonlyMap<number, BilledUpstream>;
  /** True if a line of usage is longer than a day: the month is compared as a whole. */
  isWhole: boolean;
  /** True if lines name single calls by their responses. */
  hasCalls: boolean;
  /** The same as long as the current lines of the month are. */
  linesState: string;
  /** The number of keys of the ledger whose id on bills is not set. */
  unnamedKeys: number;
}

/** Returns the time of a month of UTC: [from, to). Throws `invalid` for another text. */
export function spanOfMonth(month: string): { from: number; to: number } {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) {
    throw new PurserError("invalid", `Cannot read the month ${month}: write it as 2026-10`);
  }
  const from = Date.parse(`${month}-01T00:00:00Z`);
  return { from, to: startOf("month", from, 1) };
}

const COUNTED = "model part credential project service_tier is_batch region speed context response_id";
const COUNTS = COUNTED.split(" ").map((name) => `count(${name}) AS ${name}`).join(", ");

/** The most calls of a month that are compared one by one. */
const FEW_CALLS = 20_000;

const AMOUNT = "coalesce(list_amount, amount)";
const DECIMALS = `length(${AMOUNT}) - instr(${AMOUNT} || '.', '.')`;

/** Selects the current lines of the source ?1 that start in [?2, ?3), of the account ?4 or, if that is empty, of all. */
export const CURRENT_LINES =
  "source = ?1 AND state = 'current' AND starts_at >= ?2 AND starts_at < ?3 AND (?4 = '' OR account = ?4)";

/** SQL for a text that is the same as long as these lines are. */
export const LINES_STATE = "count(*) || ':' || coalesce(max(position), 0)";

/** Returns the condition for calls of these providers, with a parameter for each; of all if they are undefined. */
export const amongProviders = (providers: readonly string[] | undefined): string =>
  providers === undefined ? "true" : `provider IN (${providers.map(() => "?").join(", ") || "NULL"})`;

/**
 * Reads what a month is compared with.
 *
 * @throws {PurserError} `not_found` for a source or an account without lines in any month
 */
export async function openMonth(
  ctx: { store: Pick<Store, "read">; query: Query; clock: { now(): number } },
  { terms, account, month }: BilledMonth,
): Promise<OpenMonth> {
  const { from, to } = spanOfMonth(month);
  if (from > ctx.clock.now()) {
    throw new PurserError("invalid", `Cannot reconcile ${month}: it is in the future`);
  }
  await checkAccount(ctx.store, terms.name, account);
  const read = async (columns: string, rest = "") =>
    toObjects(
      await ctx.store.read({
        sql: `SELECT ${columns} FROM bill_lines WHERE ${CURRENT_LINES} ${rest}`,
        args: [terms.name, from, to, account ?? ""],
      }),
    );
  const namesOf = async (column: string) =>
    (await read(`DISTINCT ${column} AS name`, `AND ${column} IS NOT NULL`)).map(({ name }) => name as string);
  const series = await read(
    `series, max(ends_at - starts_at) AS width, max(${DECIMALS}) AS decimals, ${COUNTS}`,
    "AND category = 'usage' AND is_equivalent = 0 GROUP BY series",
  );
  const [state] = await read(`${LINES_STATE} AS state`);
  const models = await namesOf("model");
  const booked = toObjects(
    await ctx.store.read({
      sql: `SELECT DISTINCT provider, model FROM usage_totals UNION SELECT DISTINCT provider, model FROM calls
WHERE position > (SELECT position FROM rollup_positions WHERE name = 'totals')`,
    }),
  );
  const providers = providersOf(
    terms,
    await namesOf("other"),
    booked.map(({ provider }) => provider as string),
  );
  const { rows: few } = await ctx.store.read({
    sql: `SELECT 1 FROM calls WHERE at >= ? AND at < ? AND ${
      amongProviders(providers)
    } LIMIT 1 OFFSET ${FEW_CALLS}`,
    args: [from, to, ...providers ?? []],
  });
  const isOf = (provider: SqlValue | undefined) =>
    providers === undefined || providers.includes(provider as string);
  const all = await readBilledUpstreams(ctx.store);
  const upstreams = new Map([...all].filter(([, { provider }]) => isOf(provider)));
  const keys = [...upstreams.values()].flatMap(({ key }) => key ?? []);
  const hasProjects = [...upstreams.values()].some(({ project }) => project !== undefined);
  const grainOf = (name: string): Grain => {
    const row = series.find((one) => one.series === name);
    const has = (column: string) => Number(row?.[column] ?? 0) > 0;
    const isKnown: Record<string, boolean> = { credential: keys.length > 0, project: hasProjects };
    const stated = DIMENSIONS.filter((dimension) =>
      (isKnown[dimension] ?? true) &&
      (dimension === "serviceTier" ? has("service_tier") || has("is_batch") : has(dimension))
    );
    return has("model") ? ["model", ...stated] : stated;
  };
  const parts = await namesOf("part");
  const cost = series.find((one) => one.series === "cost");
  const [usageGrain, costGrain] = [grainOf("usage"), grainOf("cost")];
  return {
    setup: {
      terms,
      from,
      to,
      own: keys.length > 0 && [...usageGrain, ...costGrain].includes("credential")
        ? new Set(keys)
        : undefined,
      whole: await readWhole(ctx.store, terms, account, { from, to }),
      hasModels: models.length > 0,
      usageGrain,
      costGrain,
      isByCall: few.length === 0,
      // A source that states whole dollars has cents.
      amountDecimals: Math.max(2, Number(cost?.decimals ?? 0)),
      hasCosts: cost !== undefined || series.length === 0,
      parts: new Set(parts),
      hidesCache: !(Number(cost?.part) > 0) && !parts.some((part) => part.startsWith("cache_")),
      aliases: matchModels(
        models,
        booked.filter(({ provider }) => isOf(provider)).map(({ model }) => model as string),
      ),
    },
    providers,
    upstreams,
    isWhole: series.some(({ width }) => Number(width) > DAY_MS),
    hasCalls: series.some((one) => Number(one.response_id) > 0),
    linesState: state!.state as string,
    unnamedKeys: [...upstreams.values()].filter(({ key }) => key === undefined).length,
  };
}

async function checkAccount(
  store: Pick<Store, "read">,
  source: string,
  account: string | undefined,
): Promise<void> {
  const { rows } = await store.read({
    sql: "SELECT DISTINCT account FROM bill_imports WHERE source = ? AND status = 'done'",
    args: [source],
  });
  const accounts = rows.map(([account]) => account as string);
  if (accounts.length === 0) {
    throw new PurserError(
      "not_found",
      `Cannot reconcile ${source}: no bill of it is imported; purser bills import ${source}`,
    );
  }
  if (!account || accounts.includes(account)) return;
  const near = nearestName(account, accounts);
  const hint = near
    ? `did you mean ${near}?`
    : `there are ${accounts.filter(Boolean).join(", ") || "none with a name"}`;
  throw new PurserError(
    "not_found",
    `Cannot reconcile ${source}: no bill of the account ${account} is imported; ${hint}`,
  );
}

/** Returns the time for which the bill is whole: what was asked for, as far as the source had counted it by then. */
async function readWhole(
  store: Pick<Store, "read">,
  { name, delayMs }: BillTerms,
  account: string | undefined,
  { from, to }: { from: number; to: number },
): Promise<{ from: number; to: number }> {
  const { rows: [row] } = await store.read({
    sql: `SELECT min(from_at), max(CASE WHEN to_at < coalesce(refreshed_at, created_at - ?4) THEN to_at
  ELSE coalesce(refreshed_at, created_at - ?4) END) FROM bill_imports
WHERE source = ?1 AND status = 'done' AND from_at < ?3 AND to_at > ?2 AND (?5 = '' OR account = ?5)`,
    args: [name, from, to, delayMs, account ?? ""],
  });
  return { from: Number(row?.[0] ?? to), to: Number(row?.[1] ?? from) };
}

/** The names of providers of the clouds that FOCUS files name: how a config may call them. As of 2026-11, by their files of FOCUS 1.2. */
const CLOUDS: readonly (readonly [bill: RegExp, ledger: RegExp])[] = [
  [/amazon|aws/i, /amazon|aws|bedrock/i],
  [/microsoft|azure/i, /azure|microsoft|foundry/i],
  [/google/i, /google|vertex|gemini/i],
];

/** Returns the ledger's names of the providers that a bill is of; undefined for all. */
function providersOf(
  terms: BillTerms,
  others: readonly string[],
  booked: readonly string[],
): readonly string[] | undefined {
  if (terms.isEstimate) return [];
  if (terms.provider !== null) {
    return [
      ...new Set([terms.provider, ...booked.filter((name) => toProviderName(name) === terms.provider)]),
    ];
  }
  const named = [...new Set(others.flatMap((text) => JSON.parse(text).provider ?? []))] as string[];
  if (named.length === 0) return undefined;
  const clouds = CLOUDS.filter(([bill]) => named.some((name) => bill.test(name)));
  const isNamed = (provider: string) =>
    named.includes(provider) || clouds.some(([, ledger]) => ledger.test(provider));
  return [...new Set(booked.filter(isNamed))];
}
