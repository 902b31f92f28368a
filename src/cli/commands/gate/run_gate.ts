import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import type { BareContext, CommandContext, OpenContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { type HookInput, readHookInput } from "./hook_input.ts";
import { AGENT_HOOKS, type AgentHooks } from "./hooks/agent_hooks.ts";

/** The longest that a hook takes after its input. */
const DEADLINE_MS = 10_000;
/** The exit code by which a hook stops an agent whose event it doesn't know. */
const BLOCKED = 2;

/** Loads the hooks of the agent that a command names. */
export async function loadHooks(name: string | undefined, command: string): Promise<AgentHooks> {
  const load = AGENT_HOOKS[name ?? ""];
  if (load) return (await load()).default;
  throw new UsageError(
    `Cannot use the gate: name the agent, one of ${Object.keys(AGENT_HOOKS).join(", ")}`,
    command,
  );
}

/** `purser gate`: answers the hook of an agent. */
export async function runGate(
  ctx: BareContext,
  open: OpenContext,
  { isClosed }: { isClosed: boolean },
): Promise<number> {
  const { options, terminal, clock } = ctx;
  const hooks = await loadHooks(options.oneOf("agent", Object.keys(AGENT_HOOKS)), options.command);
  let event = hooks.onlyEvent;
  let code: number | undefined;

  function answer(reason: string | undefined): void {
    code = EXIT.done;
    if (reason === undefined) return;
    const stop = hooks.stops[event ?? ""];
    if (stop) return ctx.print(JSON.stringify(stop(reason)));
    // At a known event that nothing stops, an answer may make the agent go on.
    if (event !== undefined) return;
    code = BLOCKED;
    ctx.say(reason);
  }

  const ended = new AbortController();
  try {
    const input = await readHookInput(terminal, clock);
    event = input.event ?? event;
    const tooLate = clock.sleep(DEADLINE_MS, ended.signal).then(() => {
      throw new PurserError("unavailable", `the ledger has not answered for ${DEADLINE_MS / 1_000} s`);
    });
    tooLate.catch(() => {});
    await Promise.race([decide(open, hooks, input, answer), tooLate]);
  } catch (error) {
    if (code !== undefined) return code; // it was answered before the ledger was closed
    const message = messageOf(error);
    if (isClosed) {
      answer(`Purser stops this agent, since it cannot check its budgets (--on-error closed): ${message}`);
    } else ctx.say(`Purser lets this agent go on without a check of its budgets: ${message}`);
  } finally {
    ended.abort();
  }
  return code ?? EXIT.done;
}

/** Imports what is new of the session, and answers by the budgets of its next call. */
async function decide(
  open: OpenContext,
  hooks: AgentHooks,
  input: HookInput,
  answer: (reason: string | undefined) => void,
): Promise<void> {
  await using ctx = await open();
  const { describeReached } = await import("./describe_reached.ts");
  const check = ctx.config.server === undefined ? checkLocally : (await import("./ask_server.ts")).askServer;
  answer(await describeReached(await check(ctx, hooks, input), ctx));
}

async function checkLocally(
  ctx: CommandContext,
  hooks: AgentHooks,
  input: HookInput,
): Promise<BudgetCheck[]> {
  const connection = await ctx.connect();
  const core = connection.core!;
  if (hooks.hasLogs && input.transcript !== undefined) {
    const { findSessionLogs, importSession, readSessionStates } = await import("./import_session.ts");
    const logs = await findSessionLogs(ctx, hooks, { ...input, transcript: input.transcript });
    await importSession(ctx, connection, logs, await readSessionStates(core, logs));
  }
  const { checkBudgets } = await import("../../../budgets/mod.ts");
  return await checkBudgets(core, { agentId: hooks.agentId, sessionId: input.session });
}
