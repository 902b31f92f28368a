import { PurserError } from "../../kernel/errors.ts";
import { nearestName } from "../../kernel/nearest_name.ts";
import type { CommandContext } from "../command.ts";
import { idInPath } from "./command_id.ts";

/** The most agents among which a name is looked up. */
const MAX_AGENTS = "1000";

/**
 * Checks the agent and the session of a filter that has found nothing: a mistyped name must not look like an agent without calls.
 *
 * @throws {PurserError} `not_found`, with the nearest agent
 */
export async function checkScope(
  ctx: Pick<CommandContext, "connect">,
  { agent_id, session_id }: { agent_id?: string | undefined; session_id?: string | undefined },
): Promise<void> {
  if (agent_id === undefined && session_id === undefined) return;
  const { api } = await ctx.connect();
  if (session_id !== undefined) {
    await api.sessions[":session_id"].$get({ param: { session_id: idInPath(session_id) } });
  }
  if (agent_id === undefined) return;
  const [defined, used] = await Promise.all([
    api.agents.$get({ query: {} }).then((answer) => answer.json()),
    api.costs.$get({ query: { group_by: "agent", limit: MAX_AGENTS } }).then((answer) => answer.json()),
  ]);
  const names = [...defined.map(({ name }) => name), ...used.flatMap((row) => row.agent_id ?? [])];
  if (names.includes(agent_id)) return;
  const near = nearestName(agent_id, names);
  throw new PurserError(
    "not_found",
    `Cannot find agent ${agent_id}: it is not defined, and no call of it is booked${
      near === undefined ? "" : `; did you mean ${near}?`
    }`,
  );
}
