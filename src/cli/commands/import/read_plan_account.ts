import type { Environment } from "../../../config/mod.ts";
import { files } from "../../../kernel/files/files.ts";
import { ACCOUNT_FILES } from "../../../plans/sources/mod.ts";

/** Reads the account that an agent is signed in to on this machine; undefined where its files don't name one. */
export async function readPlanAccount(agent: string, env: Environment): Promise<string | undefined> {
  if (!Object.hasOwn(ACCOUNT_FILES, agent)) return undefined;
  const { pathOf, read } = ACCOUNT_FILES[agent]!;
  try {
    return read(JSON.parse(await files.readText(pathOf(env.HOME || env.USERPROFILE || "/", env))));
  } catch {
    return undefined; // there is none, or another form
  }
}
