import type { DoctorCheck } from "../../contract/service.ts";
import { checkDeliveries } from "../../delivery/mod.ts";
import { messageOf, PurserError } from "../../kernel/errors.ts";
import type { Core } from "../core.ts";
import { checkChannel, checkFailedDeliveries, checkRules, checkWaitingDeliveries } from "./check_alerting.ts";
import { checkApiKeys, checkModels } from "./check_keys.ts";
import { checkClock, checkDatabase } from "./check_database.ts";
import { failed, type Finding, ok } from "./finding.ts";

/**
 * Checks the config, the database and its clock, the channels, the alert rules, the keys of models and of the API, and
 * the outbox. Sends nothing and calls no model. Never rejects: a check that throws is a failed one.
 */
export async function examineService(core: Core): Promise<DoctorCheck[]> {
  const database = await run(core, "database", () => checkDatabase(core));
  const channels = await Promise.all(
    core.channels.list.map((channel) => run(core, `channel ${channel.name}`, () => checkChannel(channel))),
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
    await inDatabase("alert rules", () => checkRules(core)),
    await inDatabase("models", () => checkModels(core)),
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
