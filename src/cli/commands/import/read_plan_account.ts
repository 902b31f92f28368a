import type { Environment } from "../../../config/mod.ts";
import { files } from "../../../kernel/files/files.ts";
import { fieldsOf, wordOf } from "../../../plans/sources/mod.ts";

/**
 * Reads the account of the plan that an agent is signed in to on this machine; undefined where its files don't name one. A plan is that
 * of a person in an organization, so it is named by both: its members have one each, and a person may have one in each of several.
 * Only ids are read, of files that have credentials, too. As of 2026-11: `.claude.json` of Claude Code 2.1; `auth.json` of Codex
 * 0.171.0, https://github.com/openai/codex, codex-rs/login/src/token_data.rs.
 */
export async function readPlanAccount(agent: string, env: Environment): Promise<string | undefined> {
  const home = env.HOME || env.USERPROFILE || "/";
  const read = async (path: string) => fieldsOf(JSON.parse(await files.readText(path)));
  try {
    if (agent === "claude-code") {
      const { oauthAccount } = await read(`${env.CLAUDE_CONFIG_DIR || home}/.claude.json`);
      const { organizationUuid, accountUuid } = fieldsOf(oauthAccount);
      return accountOf(organizationUuid, accountUuid);
    }
    if (agent !== "codex") return undefined;
    const { tokens } = await read(`${env.CODEX_HOME || `${home}/.codex`}/auth.json`);
    const [, claims = ""] = String(fieldsOf(tokens).id_token).split(".");
    const text = atob(claims.replaceAll("-", "+").replaceAll("_", "/"));
    const said = fieldsOf(fieldsOf(JSON.parse(text))["https://api.openai.com/auth"]);
    return accountOf(said.chatgpt_account_id, said.chatgpt_user_id);
  } catch {
    return undefined; // there is none, or another form
  }
}

const accountOf = (organization: unknown, person: unknown) =>
  wordOf(organization) && wordOf(person) && wordOf(`${organization}/${person}`);
