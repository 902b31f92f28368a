import type { DoctorCheck } from "../../contract/service.ts";
import { checkDeliveries, type GivenUp, type WaitingFor } from "../../delivery/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Core, WholeCore } from "../core.ts";
import { checkpointsOnCommit, checkWritable, DATABASE_NOW, readDurability } from "../../store/mod.ts";
import { COMMITS_CHECKPOINT, POSTGRES_DURABILITY, SERVER_DURABILITY } from "../watch_durability.ts";
import { BUILT_IN_PROVIDERS } from "../../contract/values.ts";
import type { ConfiguredChannel } from "../../delivery/channels/mod.ts";
import { toIso } from "../../kernel/clock.ts";
import { listAgentModels } from "../../agents/mod.ts";
import { checkBudgetStates } from "./check_budgets.ts";
import { checkApiKeys } from "./check_keys.ts";
import { checkModelPrices, checkPriceAge, checkStatedCosts } from "./check_prices.ts";
import { checkProvider, providersToCheck } from "./check_providers.ts";
import { checkRules } from "./check_rules.ts";
import { checkTelemetry } from "./check_telemetry.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";

/**
 * Checks the config, the database, its clock and its spool, the channels, the budgets, the alert rules, the models, their
 * providers, the prices, the telemetry, the API keys, and the outbox. Sends no notification and calls no model; requests the list of models of
 * each provider. Never rejects: a check that throws is a failed one.
 */
export async function examineService(core: WholeCore): Promise<DoctorCheck[]> {
  const database = await withSpooled(core, await run(core, "database", () => checkDatabase(core)));
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
    await inDatabase("stated costs", () => checkStatedCosts(core)),
    await inDatabase("telemetry", () => checkTelemetry(core)),
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
  if (store.engine === "postgres") {
    return durability === "full"
      ? ok(`PostgreSQL, ${version}; every commit is on the disk of its server`)
      : warning(`PostgreSQL, ${version}; ${POSTGRES_DURABILITY.state}`, POSTGRES_DURABILITY.advice);
  }
  if (await store.answersAnyone?.()) {
    return warning(
      `libSQL server, ${version}; it answers without the token, too: whoever reaches it can read and change all of it`,
      "Start sqld with a server key, SQLD_AUTH_JWT_KEY: see docs/operating.md",
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

/** Adds the calls that wait to be booked, of this process and of dead ones on this machine, to the check of the database. */
async function withSpooled(
  { callSpool }: Pick<Core, "callSpool">,
  check: DoctorCheck,
): Promise<DoctorCheck> {
  const left = await callSpool.readLeft().catch(() => []);
  const calls = callSpool.kept().length + left.reduce((sum, { calls }) => sum + calls.length, 0);
  if (calls === 0) return check;
  return {
    ...check,
    status: check.status === "failed" ? "failed" : "warning",
    detail: `${check.detail}; ${
      calls === 1 ? "a call waits" : `${calls} calls wait`
    } in ${callSpool.folder} to be booked`,
    advice: check.advice ??
      "They are booked within 30 s once the database takes writes; else the log says why it refuses them",
  };
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

/** Reports deliveries that are late, and those for channels that this process doesn't have. */
function checkWaitingDeliveries(
  { channels }: Pick<WholeCore, "channels">,
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
