import { listAgents } from "../../agents/mod.ts";
import { type ConfiguredChannel } from "../../delivery/channels/mod.ts";
import { toIso } from "../../kernel/clock.ts";
import { BUILT_IN_PROVIDERS, isAtLeast, type Severity } from "../../contract/values.ts";
import type { Core } from "../../service/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import { checkDeliveries, type GivenUp, type WaitingFor } from "../../delivery/mod.ts";
import { checkWritable, readDurability } from "../../store/mod.ts";
import { SERVER_DURABILITY } from "../../service/mod.ts";
import { createRoute, json, problems, z } from "../route_parts.ts";
import { createRouter } from "../router.ts";
import { DoctorCheck } from "../../contract/service.ts";
import { examineClock } from "../../service/doctor/mod.ts";
import { examineConfig } from "../../service/doctor/mod.ts";
import { examineKeys } from "../../service/doctor/mod.ts";

type Check = z.infer<typeof DoctorCheck>;
type Finding = Omit<Check, "name">;

const route = createRoute({
  method: "get",
  path: "/doctor",
  operationId: "examineService",
  summary: "What works, what doesn't, and what to do about it",
  description:
    "Looks at the config, the database and its clock, each channel's settings, the alert rules, the keys of models " +
    "and of this API, and the outbox. It tries no channel and no key. The answer is 200 whatever was found.",
  tags: ["service"],
  responses: { 200: json(z.array(DoctorCheck), "One entry for each thing that was checked"), ...problems() },
});

export function doctorRoutes(core: Core) {
  return createRouter().openapi(route, async (c) => c.json(await examine(core), 200));
}

async function examine(core: Core): Promise<Check[]> {
  const database = await look(core, "database", () => checkDatabase(core));
  const channels = await Promise.all(
    core.channels.list.map((channel) => look(core, `channel ${channel.name}`, () => checkChannel(channel))),
  );
  const inDatabase = async (name: string, check: () => Promise<Finding>) =>
    database.status === "failed" ? { name, ...NOT_CHECKED } : await look(core, name, check);
  let read: ReturnType<typeof checkDeliveries> | undefined;
  const outbox = () => read ??= checkDeliveries(core);
  return [
    examineConfig(core),
    database,
    await inDatabase("clock", () => examineClock(core)),
    ...channels,
    await inDatabase("alert rules", () => checkRules(core)),
    await inDatabase("models", () => checkModels(core)),
    await inDatabase("API keys", () => examineKeys(core)),
    // Last: a process that has just started gets to what was left to it meanwhile.
    await inDatabase("waiting deliveries", async () => checkWaiting(core, (await outbox()).waiting)),
    await inDatabase("failed deliveries", async () => checkGivenUp((await outbox()).givenUp)),
  ];
}

const NOT_CHECKED: Finding = {
  status: "failed",
  detail: "not checked, since the database can't be used",
  advice: null,
};

async function look(core: Core, name: string, check: () => Promise<Finding>): Promise<Check> {
  try {
    return { name, ...await check() };
  } catch (error) {
    if (error instanceof PurserError) return { name, status: "failed", detail: error.message, advice: null };
    core.log.error("A check of the doctor failed", { check: name, reason: messageOf(error) });
    return { name, status: "failed", detail: "it could not be checked", advice: "The log tells why" };
  }
}

async function checkDatabase({ store }: Core): Promise<Finding> {
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
  if (durability === "full") {
    return ok(`libSQL server, ${version}, durability strong: every commit is on its disk`);
  }
  return warning(
    `libSQL server, ${version}; ${SERVER_DURABILITY[durability].state}`,
    SERVER_DURABILITY[durability].advice,
  );
}

async function checkChannel(channel: ConfiguredChannel): Promise<Finding> {
  const problem = await channel.check();
  if (problem === undefined) {
    const from = channel.minSeverity === "info" ? "" : `, from ${channel.minSeverity} on`;
    return ok(`${channel.kind}${from}; its settings are right`);
  }
  return {
    status: "failed",
    detail: `${channel.kind}: ${problem}`,
    advice: `Correct its settings and start again; then: purser channels test ${channel.name}`,
  };
}

async function checkRules({ store, channels }: Core): Promise<Finding> {
  const { rows } = await store.read({
    sql: "SELECT enabled, severity, count(*) FROM alert_rules GROUP BY enabled, severity",
  });
  const count = (isCounted: (enabled: boolean, severity: Severity) => boolean) =>
    rows.reduce(
      (sum, [enabled, severity, rules]) =>
        isCounted(Number(enabled) !== 0, severity as Severity) ? sum + Number(rules) : sum,
      0,
    );
  const [all, enabled] = [count(() => true), count((isEnabled) => isEnabled)];
  if (all === 0) return ok("none yet; purser alerts add makes one");
  const told = `${enabled} enabled, ${all - enabled} disabled`;
  const others = channels.list.filter(({ kind }) => kind !== "log");
  const unheard = count((isEnabled, severity) =>
    isEnabled && !others.some(({ minSeverity }) => isAtLeast(severity, minSeverity))
  );
  if (unheard === 0) return ok(told);
  return warning(
    `${told}; ${unheard === enabled ? "all" : unheard} of the enabled ones reach nobody but the log`,
    others.length === 0 ? "Name a channel in the config file" : "Lower the min_severity of a channel",
  );
}

async function checkModels(core: Core): Promise<Finding> {
  const usable: string[] = [];
  const wrong: string[] = [];
  for (const provider of BUILT_IN_PROVIDERS) {
    if (provider === "demo") continue;
    // Making a model reads its provider's settings and reaches nobody.
    const problem = await problemOf(core, `${provider}:doctor`);
    if (problem === undefined) usable.push(provider);
    else if (!/is not set$/.test(problem)) wrong.push(`${provider}: ${problem}`);
  }
  const known = [...usable, ...core.models.configuredProviders].join(", ");
  const told = known === "" ? "no provider has a key" : `set up: ${known}`;
  const models = Map.groupBy(await listAgents(core), ({ model }) => model);
  for (const [model, agents] of models) {
    const problem = await problemOf(core, model);
    if (problem === undefined) continue;
    const names = agents.map(({ agent_id }) => agent_id);
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    wrong.push(`${names.slice(0, 3).join(", ")}${more} can't run on ${model}: ${problem}`);
  }
  if (wrong.length === 0) return ok(told);
  return warning(
    [told, ...wrong].join("; "),
    "Set what is missing in the environment of Purser, and start again",
  );
}

/** Why a model can't be called, as far as that is known without calling it. */
async function problemOf({ models }: Core, model: string): Promise<string | undefined> {
  const reason = await models.resolve(model).then(() => undefined, messageOf);
  return reason?.replace(/^Cannot use the model \S+: /, "").replace(
    /; set it in the environment of Purser$/,
    "",
  );
}

function checkWaiting({ channels }: Core, waiting: readonly WaitingFor[]): Finding {
  const orphans = waiting.filter(({ channel }) => channels.get(channel) === undefined);
  const late = waiting.filter((each) => each.stuck > 0 && !orphans.includes(each));
  const since = (each: WaitingFor) =>
    `${each.stuck} for ${each.channel}, due since ${toIso(each.oldestDueAt)}`;
  const parts = [
    ...late.map(since),
    ...orphans.map(({ channel, count }) => `${count} for ${channel}, which the config doesn't name`),
  ];
  if (late.some(({ isBeingDelivered }) => !isBeingDelivered)) {
    return {
      status: "failed",
      detail: parts.join("; "),
      advice: "Nobody is at them: look into the log, and start the process again that delivers",
    };
  }
  if (late.length > 0) {
    return warning(
      parts.join("; "),
      "They are being worked off; a slow channel keeps the others of its queue waiting",
    );
  }
  if (orphans.length > 0) {
    return warning(
      parts.join("; "),
      "Name the channel in the config again, and they are delivered; unless another instance has it",
    );
  }
  const count = waiting.reduce((sum, each) => sum + each.count, 0);
  return ok(count === 0 ? "none" : `${count}, none of them late`);
}

function checkGivenUp(givenUp: readonly GivenUp[]): Finding {
  const [newest] = givenUp;
  if (newest === undefined) return ok("none in the history that is kept");
  const describe = ({ channel, count, newestAt, newestError }: GivenUp) =>
    `${count} through ${channel}, the last at ${toIso(newestAt)}: ${newestError}`;
  const detail = givenUp.map(describe).join("; ");
  if (!newest.isRecent) return ok(`none in the last 7 days; before that ${detail}`);
  return warning(
    detail,
    `They are not tried again; see purser alerts history, and try purser channels test ${newest.channel}`,
  );
}

function ok(detail: string): Finding {
  return { status: "ok", detail, advice: null };
}

function warning(detail: string, advice: string): Finding {
  return { status: "warning", detail, advice };
}
