import { fieldsOf, wordOf } from "./plan_window.ts";

/** The file in which an agent keeps the account that it is signed in to. */
export interface AccountFile {
  pathOf(home: string, env: Readonly<Record<string, string | undefined>>): string;
  /** Returns the account in the JSON of the file; undefined for one that names no plan of its own. */
  read(json: unknown): string | undefined;
}

/**
 * The accounts of plans, by the agent. A plan is that of a person in an organization, so both are its name: a member has a plan
 * beside those of the others, and a person may have one in each of several. Only ids are read, of files that have credentials, too.
 * As of 2026-11: `.claude.json` of Claude Code 2.1; `auth.json` of Codex 0.171.0, codex-rs/login/src/token_data.rs.
 */
export const ACCOUNT_FILES: Readonly<Record<string, AccountFile>> = {
  "claude-code": {
    pathOf: (home, { CLAUDE_CONFIG_DIR: folder }) => `${folder || home}/.claude.json`,
    read(json) {
      const { organizationUuid, accountUuid } = fieldsOf(fieldsOf(json).oauthAccount);
      return nameOf(organizationUuid, accountUuid);
    },
  },
  codex: {
    pathOf: (home, { CODEX_HOME: folder }) => `${folder || `${home}/.codex`}/auth.json`,
    read(json) {
      const { id_token } = fieldsOf(fieldsOf(json).tokens);
      const [, claims = ""] = typeof id_token === "string" ? id_token.split(".") : [];
      const text = atob(claims.replaceAll("-", "+").replaceAll("_", "/"));
      const said = fieldsOf(fieldsOf(JSON.parse(text))["https://api.openai.com/auth"]);
      return nameOf(said.chatgpt_account_id, said.chatgpt_user_id);
    },
  },
};

const nameOf = (organization: unknown, person: unknown) => {
  const [of, who] = [wordOf(organization), wordOf(person)];
  return of === undefined || who === undefined ? undefined : wordOf(`${of}/${who}`);
};
