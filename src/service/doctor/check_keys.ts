import { listAgents } from "../../agents/mod.ts";
import { BUILT_IN_PROVIDERS } from "../../contract/values.ts";
import { toIso } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { checkKeys, type DueKey, type KeyContext } from "../../keys/mod.ts";
import type { Core } from "../core.ts";
import { type Finding, ok, warning } from "./finding.ts";

/** Checks the settings of every provider and the model of every agent, without a request to any of them. */
export async function checkModels(core: Core): Promise<Finding> {
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
  const models = Map.groupBy(await listAgents(core), ({ model }) => model);
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
export async function checkApiKeys(ctx: Pick<KeyContext, "store" | "clock">): Promise<Finding> {
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
