import type { Connection } from "../../client/mod.ts";
import { openProfiles } from "../../config/mod.ts";
import type { LiveValue } from "../command_table.ts";
import { idInPath } from "../parse/command_id.ts";
import type { Offer, TypedLine } from "./read_cursor.ts";

/** What asking for live values needs. */
export interface LiveContext {
  line: TypedLine;
  env: Readonly<Record<string, string | undefined>>;
  /** The place that the line names. */
  connect(): Promise<Connection>;
}

/** Enough to choose from; more of the name narrows it down. */
const LIMIT = "200";

/** How each kind of live value is asked for. A new kind is a line here and its name in the command table. */
export const LIVE_VALUES: Readonly<Record<LiveValue, (ctx: LiveContext) => Promise<Offer[]>>> = {
  agent: async ({ connect }) => {
    const agents = await (await (await connect()).api.agents.$get()).json();
    return agents.map(({ agent_id, model }) => ({ value: agent_id, note: model }));
  },
  session: async ({ line, connect }) => {
    const { api } = await connect();
    const agent = agentOf(line);
    const query = { limit: LIMIT };
    const answer = agent === undefined
      ? await api.sessions.$get({ query })
      : await api.agents[":agent_id"].sessions.$get({ param: { agent_id: idInPath(agent) }, query });
    return (await answer.json()).map(({ session_id, agent_id, status, updated_at }) => ({
      value: session_id,
      note: `${agent_id}, ${status}, ${updated_at.slice(0, 16).replace("T", " ")}`,
    }));
  },
  rule: async ({ connect }) => {
    const rules = await (await (await connect()).api.alerts.rules.$get()).json();
    return rules.map(({ rule_id, name, enabled }) => ({
      value: rule_id,
      note: enabled ? name : `${name}, disabled`,
    }));
  },
  channel: async ({ connect }) => {
    const channels = await (await (await connect()).api.channels.$get()).json();
    return channels.map(({ name, kind }) => ({ value: name, note: kind }));
  },
  key: async ({ connect }) => {
    const { api } = await connect();
    const keys = await (await api.keys.$get({ query: { status: "active", limit: LIMIT } })).json();
    return keys.map(({ key_id, name, scopes }) => ({ value: key_id, note: `${name}, ${scopes.join(", ")}` }));
  },
  profile: async ({ line, env }) => {
    const profiles = await openProfiles({ env, configPath: line.options.get("config") });
    return (await profiles.list()).map(({ name, server, db }) => ({ value: name, note: server ?? db ?? "" }));
  },
};

/** The agent that the line is about, where it says so. */
function agentOf({ command, args, options }: TypedLine): string | undefined {
  const index = command?.args.findIndex(({ values }) => values?.live === "agent") ?? -1;
  return options.get("agent") ?? args[index];
}
