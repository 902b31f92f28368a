import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import { nearestName } from "../../../kernel/nearest_name.ts";
import type { BareContext, CommandContext, OpenContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { type HookInput, readHookInput } from "./hook_input.ts";
import { AGENT_HOOKS, type AgentHooks } from "./hooks/agent_hooks.ts";

/** The longest that a hook takes after its input: longer than a locked file is waited for, whose error says why it is locked. */
const DEADLINE_MS = 12_000;
/** The exit code by which a hook stops an agent whose event it doesn't know. */
const BLOCKED = 2;

/** Returns the budgets of a verdict that stop an agent. */
export const reachedIn = ({ checks }: Pick<Verdict, "checks">): BudgetCheck[] =>
  checks.filter(({ state, action }) => state === "reached" && action !== "watch");

/** The answer of a ledger about the next call of an agent. */
export interface Verdict {
  /** The budgets that count it. */
  checks: BudgetCheck[];
  /** A sentence about the window of a plan whose quota has ended, if that is asked. */
  endedQuota?: string | undefined;
}

/** Loads the hooks of the agent that a command names. */
export async function loadHooks(name: string | undefined, command: string): Promise<AgentHooks> {
  if (name !== undefined && Object.hasOwn(AGENT_HOOKS, name)) return (await AGENT_HOOKS[name]!()).default;
  const names = Object.keys(AGENT_HOOKS);
  const near = name === undefined ? undefined : nearestName(name, names);
  const state = name === undefined ? "--agent is missing" : `there is no agent ${name}`;
  throw new UsageError(
    `Cannot use the gate: ${state}; ${near ? `did you mean ${near}?` : `known are ${names.join(", ")}`}`,
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
  const hooks = await loadHooks(options.text("agent"), options.command);
  let event = hooks.onlyEvent;
  let code: number | undefined;

  function answer(reason: string | undefined): void {
    if (code !== undefined) return;
    code = EXIT.done;
    if (reason === undefined) return;
    if (event === undefined) {
      code = BLOCKED;
      return terminal.stderr.write(`${reason}\n`);
    }
    // At an event that nothing stops, an answer may make the agent go on.
    if (Object.hasOwn(hooks.stops, event)) ctx.print(JSON.stringify(hooks.stops[event]!(reason)));
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
    } else {
      answer(undefined);
      const systemMessage = `Purser lets this agent go on without a check of its budgets: ${message}`;
      ctx.say(systemMessage);
      // Agents hide the standard error of a hook that has not failed.
      if (hooks.showsMessages && Object.hasOwn(hooks.stops, event ?? "")) {
        ctx.print(JSON.stringify({ systemMessage }));
      }
    }
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
  const verdict = await check(ctx, hooks, input);
  answer(await describeReached(reachedIn(verdict), ctx) ?? describeQuota(verdict.endedQuota));
}

function describeQuota(ended: string | undefined): string | undefined {
  if (ended === undefined) return undefined;
  return `Purser: ${ended}. The next call would spend paid credits, and this agent stops before (--stop-before-credits).`;
}

async function checkLocally(
  ctx: CommandContext,
  hooks: AgentHooks,
  input: HookInput,
): Promise<Verdict> {
  const connection = await ctx.connect();
  const core = connection.core!;
  if (hooks.hasLogs && input.transcript !== undefined) {
    const { findSessionLogs, importSession, readSessionStates } = await import("./import_session.ts");
    const logs = await findSessionLogs(ctx, hooks, { ...input, transcript: input.transcript });
    await importSession(ctx, connection, logs, await readSessionStates(core, logs));
  }
  const { checkBudgets } = await import("../../../budgets/mod.ts");
  const { agentId } = hooks;
  const { nextCallOf } = await import("./next_call.ts");
  const subjects = await nextCallOf(ctx, agentId, input);
  const call = { agentId, sessionId: input.session, subjects };
  const { checkAndAsk } = await import("./check_and_ask.ts");
  const checks = await checkAndAsk(connection, call, () => checkBudgets(core, call));
  if (!ctx.options.has("stop-before-credits")) return { checks };
  const { planQuotaEnded } = await import("../../../plans/mod.ts");
  const machine = subjects.tags.machine!;
  const plan = { agent: agentId, reporterKeyId: "", owner: { machine }, model: input.model };
  return { checks, endedQuota: (await planQuotaEnded(core, plan, ctx.clock.now()))?.message };
}
