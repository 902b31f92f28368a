import type { DoctorCheck } from "../../contract/service.ts";
import { checkDeliveries, type GivenUp, type WaitingFor } from "../../delivery/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Core } from "../core.ts";
import { checkpointsOnCommit, checkWritable, DATABASE_NOW, readDurability } from "../../store/mod.ts";
import { COMMITS_CHECKPOINT, SERVER_DURABILITY } from "../watch_durability.ts";
import { BUILT_IN_PROVIDERS, isAtLeast, type Severity } from "../../contract/values.ts";
import type { ConfiguredChannel } from "../../delivery/channels/mod.ts";
import { DAY_MS, toIso } from "../../kernel/clock.ts";
import { listAgentModels } from "../../agents/mod.ts";
import { checkBudgetStates } from "./check_budgets.ts";
import { checkProvider, providersToCheck } from "./check_providers.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";
import { checkKeys, type DueKey, type KeyContext } from "../../keys/mod.ts";
import { listCosts } from "../../ledger/mod.ts";
import { checkPrices, describeSources, type PriceFindings } from "../../pricing/show/mod.ts";

/**
 * Checks the config, the database and its clock, the channels, the budgets, the alert rules, the models, their providers, the
 * prices, the API keys, and the outbox. Sends no notification and calls no model; requests the list of models of each provider.
 * Never rejects: a check that throws is a failed one.
 */
export async function examineService(core: Core): Promise<DoctorCheck[]> {
  const database = await run(core, "database", () => checkDatabase(core));
  const channels = await Promise.all(
    core.channels.list.map((channel) => run(core, `channel ${channel.name}`, () => checkChannel(channel))),
  );
  // All at once, since each may take seconds.
  const providers = Promise.all(
    providersToCheck(core).map((name) => run(core, `provider ${name}`, () => checkProvider(core, name))),
  );
  const inDatabase = async (name: string, check: () => Promise<Finding>) =>
    database.status === "failed" ? { name, ...NOT_CHECKED } : await run(core, name, check);
  let read: ReturnType<typeof checkDeliveries> | undefined;
  const outbox = () => read ??= checkDeliveries(core);
  return [
    { name: "config", ...checkConfig(core) },
    database,
    await inDatabase("clock", () => checkClock(core)),
    ...channels,
    await inDatabase("budgets", () => checkBudgetStates(core)),
    await inDatabase("alert rules", () => checkRules(core)),
    await inDatabase("models", () => checkModels(core)),
    ...await providers,
    await run(core, "prices", () => checkPriceAge(core)),
    await inDatabase("prices of models", () => checkModelPrices(core)),
    await inDatabase("API keys", () => checkApiKeys(core)),
    // Last: a process that has just started delivers in the meantime what was waiting for it.
    await inDatabase(
      "waiting deliveries",
      async () => checkWaitingDeliveries(core, (await outbox()).waiting),
    ),
    await inDatabase("failed deliveries", async () => checkFailedDeliveries((await outbox()).givenUp)),
  ];
}

const NOT_CHECKED = failed("not checked, since the database can't be used", null);

async function run(
  { log }: Pick<Core, "log">,
  name: string,
  check: () => Promise<Finding>,
): Promise<DoctorCheck> {
  try {
    return { name, ...await check() };
  } catch (error) {
    if (error instanceof PurserError) return { name, ...failed(error.message, null) };
    log.error("A check of the doctor failed", { check: name, reason: messageOf(error) });
    return { name, ...failed("it could not be checked", "The log has the reason") };
  }
}

/** Names the config file of this process: its path is no secret, but its content may be. */
function checkConfig({ configPath }: Pick<Core, "configPath">): Finding {
  return ok(configPath ?? "no file: all settings have their defaults or come from the environment");
}

/** Checks that the database takes writes, and whether a commit survives a power cut. */
async function checkDatabase({ store }: Pick<Core, "store">): Promise<Finding> {
  await checkWritable(store);
  const { rows } = await store.read({ sql: "SELECT max(version) FROM purser_migrations" });
  const version = `schema version ${rows[0]![0]}`;
  if (store.kind === "memory") return ok(`in memory, ${version}; all of it is gone when the process ends`);
  const durability = await readDurability(store);
  if (store.kind === "file") {
    return ok(
      durability === "full"
        ? `local file, ${version}, durability full: every commit is on the disk`
        : `local file, ${version}, durability normal: a power cut may lose the last commits`,
    );
  }
  if (durability === "full" && await checkpointsOnCommit(store)) {
    return warning(`libSQL server, ${version}; ${COMMITS_CHECKPOINT.state}`, COMMITS_CHECKPOINT.advice);
  }
  if (durability === "full") {
    return ok(`libSQL server, ${version}, durability strong: every commit is on its disk`);
  }
  return warning(
    `libSQL server, ${version}; ${SERVER_DURABILITY[durability].state}`,
    SERVER_DURABILITY[durability].advice,
  );
}

/** Windows of spend, days and cooldowns are computed to the second; NTP keeps machines within a fraction of one. */
const MAX_SKEW_MS = 5_000;

/** Compares this machine's clock with that of a database on another one, which its leases depend on. */
async function checkClock({ store, clock }: Pick<Core, "store" | "clock">): Promise<Finding> {
  if (store.kind !== "remote") return ok("this machine's own is the only one");
  const before = clock.now();
  const { rows } = await store.read({ sql: `SELECT ${DATABASE_NOW}` });
  const after = clock.now();
  const [ahead, uncertainty] = [(before + after) / 2 - Number(rows[0]![0]), (after - before) / 2];
  if (Math.abs(ahead) - uncertainty <= MAX_SKEW_MS) {
    return ok(`within ${MAX_SKEW_MS / 1000} s of the database's`);
  }
  return warning(
    `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"} the database's; ` +
      `at most ${MAX_SKEW_MS / 1000} s is fine`,
    "Synchronize both machines by NTP: hours, days and cooldowns of alerts depend on these clocks",
  );
}

/** Checks that a channel's plugin loads, its settings are valid, and no attempt would refuse its address. */
async function checkChannel(channel: ConfiguredChannel): Promise<Finding> {
  const { kind, name, minSeverity } = channel;
  const problem = await channel.check();
  if (problem !== undefined) {
    return failed(
      `${kind}: ${problem}`,
      `Correct its settings and restart; then: purser channels test ${name}`,
    );
  }
  const refused = await channel.checkAddress();
  if (refused !== undefined) {
    return failed(
      `${kind}: ${refused}: every attempt to send there is refused`,
      `Name its network in allow_private_networks and restart; then: purser channels test ${name}`,
    );
  }
  const from = minSeverity === "info" ? "" : `, from ${minSeverity} on`;
  return ok(`${kind}${from}; its settings are right`);
}

/** Counts the alert rules, and those whose severity no channel but the log delivers. */
async function checkRules({ store, channels }: Pick<Core, "store" | "channels">): Promise<Finding> {
  const { rows } = await store.read({
    sql: "SELECT enabled, severity, count(*) FROM alert_rules GROUP BY enabled, severity",
  });
  const groups = rows.map(([enabled, severity, count]) => ({
    isEnabled: Number(enabled) !== 0,
    severity: severity as Severity,
    count: Number(count),
  }));
  const sum = (some: typeof groups) => some.reduce((total, { count }) => total + count, 0);
  const enabledGroups = groups.filter(({ isEnabled }) => isEnabled);
  const [all, enabled] = [sum(groups), sum(enabledGroups)];
  if (all === 0) return ok("none yet; purser alerts add makes one");
  const state = `${enabled} enabled, ${all - enabled} disabled`;
  const others = channels.list.filter(({ kind }) => kind !== "log");
  const logOnly = sum(
    enabledGroups.filter(({ severity }) =>
      !others.some(({ minSeverity }) => isAtLeast(severity, minSeverity))
    ),
  );
  if (logOnly === 0) return ok(state);
  return warning(
    `${state}; ${logOnly === enabled ? "all" : logOnly} of the enabled ones go to the log only`,
    others.length === 0 ? "Name a channel in the config file" : "Lower the min_severity of a channel",
  );
}

/** Reports deliveries that are late, and those for channels that this process doesn't have. */
function checkWaitingDeliveries(
  { channels }: Pick<Core, "channels">,
  waiting: readonly WaitingFor[],
): Finding {
  const orphans = waiting.filter(({ channel }) => channels.get(channel) === undefined);
  const late = waiting.filter((each) => each.stuck > 0 && !orphans.includes(each));
  const details = [
    ...late.map((each) => `${each.stuck} for ${each.channel}, due since ${toIso(each.oldestDueAt)}`),
    ...orphans.map(({ channel, count }) => `${count} for ${channel}, which the config doesn't name`),
  ].join("; ");
  if (late.some(({ isBeingDelivered }) => !isBeingDelivered)) {
    return failed(
      details,
      "No process is delivering these: look into the log, and restart the process that delivers",
    );
  }
  if (late.length > 0) {
    return warning(details, "They are being delivered; a slow channel delays the others of its queue");
  }
  if (orphans.length > 0) {
    return warning(
      details,
      "Name the channel in the config again, and they are delivered; unless another instance has it",
    );
  }
  const count = waiting.reduce((sum, each) => sum + each.count, 0);
  return ok(count === 0 ? "none" : `${count}, none of them late`);
}

/** Reports the deliveries that are not retried any more, by channel. */
function checkFailedDeliveries(givenUp: readonly GivenUp[]): Finding {
  const [newest] = givenUp;
  if (newest === undefined) return ok("none in the history that is kept");
  const detail = givenUp.map(({ channel, count, newestAt, newestError }) =>
    `${count} through ${channel}, the last at ${toIso(newestAt)}: ${newestError}`
  ).join("; ");
  if (!newest.isRecent) return ok(`none in the last 7 days; before that ${detail}`);
  return warning(
    detail,
    `They are not retried; see purser alerts history, and try purser channels test ${newest.channel}`,
  );
}

/** Checks the settings of every provider and the model of every agent, without a request to any of them. */
async function checkModels(core: Core): Promise<Finding> {
  const usable: string[] = [];
  const problems: string[] = [];
  for (const provider of BUILT_IN_PROVIDERS) {
    if (provider === "demo") continue;
    const problem = await problemOf(core, `${provider}:doctor`);
    if (problem === undefined) usable.push(provider);
    else if (!/is not set$/.test(problem)) problems.push(`${provider}: ${problem}`);
  }
  const names = [...usable, ...core.models.configuredProviders].join(", ");
  const state = names === "" ? "no provider has a key" : `set up: ${names}`;
  const models = Map.groupBy(await listAgentModels(core), ({ model }) => model);
  for (const [model, agents] of models) {
    const problem = await problemOf(core, model);
    if (problem === undefined) continue;
    const ids = agents.map(({ agent_id }) => agent_id);
    const more = ids.length > 3 ? ` and ${ids.length - 3} more` : "";
    problems.push(`${ids.slice(0, 3).join(", ")}${more} can't run on ${model}: ${problem}`);
  }
  if (problems.length === 0) return ok(state);
  return warning(
    [state, ...problems].join("; "),
    "Set the missing variables in the environment of Purser, and restart it",
  );
}

/** Returns why a model can't be called, as far as its settings show. */
async function problemOf({ models }: Pick<Core, "models">, model: string): Promise<string | undefined> {
  const reason = await models.resolve(model).then(() => undefined, messageOf);
  return reason?.replace(/^Cannot use the model \S+: /, "").replace(
    /; set it in the environment of Purser$/,
    "",
  );
}

const RENEW = "Make a new one with purser keys create, deploy it, and revoke the old one";

/** Checks that there is an active API key where one is required, and which ones expire soon. */
async function checkApiKeys(ctx: Pick<KeyContext, "store" | "clock">): Promise<Finding> {
  const { all, active, admin, expiring, lapsed } = await checkKeys(ctx);
  if (all === 0) return ok("none yet, so a server answers this machine only");
  if (active === 0) {
    return warning(
      `none of ${all} is active, so a server refuses every request`,
      "On the database itself: purser keys create NAME --scope admin",
    );
  }
  const counted = `${active} active${admin === 0 ? ", none of them admin" : ""}`;
  const due = [
    ...lapsed.map((key) => `${named(key)} was in use when it expired at ${toIso(key.expiresAt)}`),
    ...expiring.map((key) => `${named(key)} expires at ${toIso(key.expiresAt)}`),
  ];
  return due.length === 0 ? ok(counted) : warning([counted, ...due].join("; "), RENEW);
}

function named({ name, keyId }: DueKey): string {
  return `${name} (${keyId})`;
}

/** Older prices are out of date: providers publish new models and prices every few weeks. */
const MAX_AGE_DAYS = 14;

/** The models of the calls of these days are checked. */
const DAYS_IN_USE = 30;

/** Number of models that are checked and of findings that are named. */
const MAX_MODELS = 1_000;
const MAX_NAMED = 5;

/** Warns of old prices. */
async function checkPriceAge({ prices, clock }: Pick<Core, "prices" | "clock">): Promise<Finding> {
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

/** Warns of models in use without a price, and of those whose prices are disputed. */
async function checkModelPrices(core: Pick<Core, "prices" | "clock" | "store">): Promise<Finding> {
  const now = core.clock.now();
  const rows = await listCosts(core.store, {
    groupBy: "model",
    from: now - DAYS_IN_USE * DAY_MS,
    limit: MAX_MODELS,
    offset: 0,
  });
  const used = rows.map(({ provider, model }) => ({ provider: provider!, model: model! }));
  const findings = checkPrices(await core.prices.inUse(), used, now);
  // A model without a price whose calls are reported with their cost needs none.
  const withUnpriced = new Set(
    rows.filter((row) => row.unpriced_calls > 0).map(({ provider, model }) => `${provider}:${model}`),
  );
  const unpriced = findings.unpriced.filter(({ name }) => withUnpriced.has(name));
  const { disputed } = findings;
  if (unpriced.length + disputed.length === 0) {
    return ok(
      used.length === 0
        ? "no calls in the last 30 days"
        : `${used.length} in use in the last 30 days, none of them unpriced`,
    );
  }
  const { name } = (unpriced[0] ?? disputed[0])!;
  const remedy = unpriced.length > 0
    ? '; update the prices, or add the model to "prices" in the config'
    : ' and the provider\'s own price list; "prices" in the config decides';
  return warning(
    [describeUnpriced(unpriced), describeDisputed(disputed)].filter((text) => text !== "").join("; "),
    `See purser prices show ${name}${remedy}`,
  );
}

function describeUnpriced(unpriced: PriceFindings["unpriced"]): string {
  if (unpriced.length === 0) return "";
  const names = unpriced.map(({ name, nearest: [first] }) =>
    first === undefined ? name : `${name} (the nearest known is ${first})`
  );
  return `without a price: ${listed(names)}`;
}

function describeDisputed(disputed: PriceFindings["disputed"]): string {
  if (disputed.length === 0) return "";
  const names = disputed.map(({ name, differences }) => {
    const { part, genaiUsd, litellmUsd } = differences[0]!;
    return `${name} (${part}: ${genaiUsd}, by LiteLLM ${litellmUsd})`;
  });
  return `the sources differ by over 1%: ${listed(names)}`;
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
