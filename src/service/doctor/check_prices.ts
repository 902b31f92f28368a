import { listRefusals } from "../../budgets/mod.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { listCosts, readStatedApart } from "../../ledger/mod.ts";
import { checkPrices, describeSources, type PriceFindings } from "../../pricing/show/mod.ts";
import type { Core } from "../core.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Older prices are out of date: providers publish new models and prices every few weeks. */
const MAX_AGE_DAYS = 14;

/** The models of the calls of these days are checked. */
const DAYS_IN_USE = 30;

/** The most models that are checked, and the most that a finding lists. */
const MAX_MODELS = 1_000;
const MAX_NAMED = 5;

/** Warns of old prices. */
export async function checkPriceAge(
  { prices, clock }: Pick<Core, "prices" | "clock">,
): Promise<Finding> {
  const sources = describeSources(await prices.inUse(), clock.now());
  const detail = sources.map(({ name, date, origin, models }) =>
    `${name} of ${date}${origin === "update" ? ", updated" : ""}, ${models} models`
  ).join("; ");
  const age = Math.min(...sources.map(({ age_days }) => age_days));
  if (age <= MAX_AGE_DAYS) return ok(detail);
  return warning(
    `${detail}; the newest are ${age} days old`,
    'Run purser prices update where this process runs; for a server also "price_updates": "daily" in its config',
  );
}

/** Warns of models in use, or refused, without a price, of those whose prices are disputed, and of those that end. */
export async function checkModelPrices(
  core: Pick<Core, "prices" | "clock" | "store">,
): Promise<Finding> {
  const now = core.clock.now();
  const rows = await listCosts(core.store, {
    groupBy: "model",
    from: now - DAYS_IN_USE * DAY_MS,
    limit: MAX_MODELS,
    offset: 0,
  });
  const used = rows.map(({ provider, model }) => ({ provider: provider!, model: model! }));
  const findings = checkPrices(await core.prices.inUse(), used, now);
  // A model whose calls are reported with their cost needs no price.
  const withUnpriced = new Set(
    rows.filter((row) => row.unpriced_calls > 0).map(({ provider, model }) => `${provider}:${model}`),
  );
  const unpriced = findings.unpriced.filter(({ name }) => withUnpriced.has(name));
  const { disputed, ending } = findings;
  const refused = await findRefused(core, now);
  if (unpriced.length + disputed.length + refused.length + ending.length === 0) {
    return ok(
      used.length === 0
        ? "no calls in the last 30 days"
        : `${used.length} in use in the last 30 days, none of them unpriced`,
    );
  }
  const { name } = (unpriced[0] ?? refused[0] ?? disputed[0] ?? ending[0])!;
  const remedy = unpriced.length + refused.length > 0
    ? `; update the prices, or set it by purser prices set ${name} --input … --output …`
    : disputed.length > 0
    ? ' and the provider\'s own price list; "prices" in the config decides'
    : " and the provider's page of models; choose another one in time";
  return warning(
    [
      describeUnpriced("without a price", unpriced),
      describeUnpriced("refused, since budgets need a price", refused),
      describeDisputed(disputed),
      describeEnding(ending, now),
    ].filter((text) => text !== "").join("; "),
    `See purser prices show ${name}${remedy}`,
  );
}

/** The newest refused calls, among which those without a price are found. */
const MAX_REFUSALS = 1_000;

/** Returns the models whose calls budgets have refused for want of a price, and that still have none. */
async function findRefused(
  { store, prices }: Pick<Core, "store" | "prices">,
  now: number,
): Promise<PriceFindings["unpriced"]> {
  const refusals = await listRefusals({ store }, {
    reason: "unpriced",
    from: now - DAYS_IN_USE * DAY_MS,
    limit: MAX_REFUSALS,
  });
  const named = refusals.flatMap(({ provider, model }) => provider && model ? [{ provider, model }] : []);
  const models = new Map(named.map((each) => [`${each.provider}:${each.model}`, each]));
  return checkPrices(await prices.inUse(), [...models.values()], now).unpriced;
}

/** With this many calls of one provider it is no accident. */
const SYSTEMATIC_CALLS = 3;

/** Warns of providers that keep stating another cost than the one that is booked. */
export async function checkStatedCosts(core: Pick<Core, "clock" | "store">): Promise<Finding> {
  const all = await readStatedApart(core, core.clock.now() - DAYS_IN_USE * DAY_MS);
  const apart = all.filter(({ calls }) => calls >= SYSTEMATIC_CALLS);
  if (apart.length === 0) return ok("no provider keeps stating others than are booked");
  const usd = (amount: number) => `$${Number(amount.toPrecision(4))}`;
  const names = apart.map(({ provider, calls, statedUsd, bookedUsd }) =>
    `${provider} (${calls} calls: ${usd(statedUsd)} stated, ${usd(bookedUsd)} booked)`
  );
  return warning(
    `providers that state another cost than the one that is booked, in the last ${DAYS_IN_USE} days: ${
      listed(names)
    }`,
    `See purser cost explain CALL_ID; if it is the bill, set "states_cost" of the provider in the config, ` +
      'else add its models to "prices"',
  );
}

function describeUnpriced(problem: string, unpriced: PriceFindings["unpriced"]): string {
  if (unpriced.length === 0) return "";
  const names = unpriced.map(({ name, nearest: [first] }) =>
    first === undefined ? name : `${name} (the nearest known is ${first})`
  );
  return `${problem}: ${listed(names)}`;
}

function describeDisputed(disputed: PriceFindings["disputed"]): string {
  if (disputed.length === 0) return "";
  const names = disputed.map(({ name, differences }) => {
    const { part, genaiUsd, litellmUsd } = differences[0]!;
    return `${name} (${part}: ${genaiUsd}, by LiteLLM ${litellmUsd})`;
  });
  return `the sources differ by over 1%: ${listed(names)}`;
}

function describeEnding(ending: PriceFindings["ending"], now: number): string {
  const of = (hasEnded: boolean) =>
    ending.filter(({ endsOn }) => Date.parse(endsOn) <= now === hasEnded)
      .map(({ name, endsOn }) => `${name} (${endsOn})`);
  const [ended, soon] = [of(true), of(false)];
  return [
    ...ended.length > 0 ? [`ended by their providers: ${listed(ended)}`] : [],
    ...soon.length > 0 ? [`ending soon: ${listed(soon)}`] : [],
  ].join("; ");
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
