import { TAG_LIMITS } from "../../../contract/tags/tags.ts";
import { createProjectNames } from "../../../ingest/import/mod.ts";
import { files } from "../../../kernel/files/files.ts";
import type { Billing } from "../../../contract/values.ts";
import type { CommandContext } from "../../command.ts";
import { hostName } from "../import/host_name.ts";
import type { HookInput } from "./hook_input.ts";

/** The subjects of a call that budgets count, as far as they are known before it is made: those that the import of its log gives it. */
export interface NextCall {
  source: "log";
  model: string | undefined;
  billing: Billing;
  tags: Readonly<Record<string, string>>;
}

/** Returns the subjects of the next call of a session. */
export async function nextCallOf(
  { env, config }: CommandContext,
  agentId: string,
  { model, cwd }: HookInput,
): Promise<NextCall> {
  const projectOf = createProjectNames(await files.loadFilesSync(), env.HOME || env.USERPROFILE || "/");
  const named = { machine: await hostName(), project: cwd && projectOf(cwd) };
  const tags = Object.entries(named).flatMap(([key, value = ""]) => {
    // As the import writes them.
    // deno-lint-ignore no-control-regex
    const text = value.toWellFormed().replace(/[\x00-\x1f\x7f-\x9f]+/g, " ").trim();
    return text === "" ? [] : [[key, [...text].slice(0, TAG_LIMITS.value).join("")]];
  });
  const billing = config.importPlans?.includes(agentId) ? "plan" : "billed";
  return { source: "log", model, billing, tags: Object.fromEntries(tags) };
}
