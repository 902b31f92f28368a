import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { replaceFile } from "../../../kernel/files/replace_file.ts";
import { toIso } from "../../../kernel/clock.ts";
import { messageOf, PurserError } from "../../../kernel/errors.ts";
import type { CommandContext } from "../../command.ts";
import { EXIT } from "../../exit_code.ts";
import { checkName, parseAmount } from "../../parse/given_fields.ts";
import { countOf } from "../../render/format_values.ts";
import { UsageError } from "../../parse/usage_error.ts";
import { argumentsFor, commandEnvironment } from "./capture_variables.ts";
import { type OpenCapture, openCapture } from "./open_capture.ts";
import { renderCapture } from "./render_capture.ts";
import { catchSignals, exitCodeOfSignal, runCommand } from "./run_process.ts";

/** The cost of a command, as it is written to a file. */
export interface Captured {
  name: string;
  key_id: string;
  command: readonly string[];
  exit_code: number;
  duration_ms: number;
  budget_usd: number | null;
  /** True if the command was stopped at its budget, or a call of it was refused. */
  budget_reached: boolean;
  total: CostTotal;
  by_model: CostRow[];
}

/** `purser capture`: returns the exit code of the command. */
export async function runCapture(ctx: CommandContext): Promise<number> {
  const { args, options, env, clock, terminal } = ctx;
  const [program, ...rest] = args;
  if (program === undefined) {
    throw new UsageError("Cannot capture without a COMMAND: write it after --", options.command);
  }
  const budgetUsd = options.read("budget", parseAmount);
  if (await terminal.mayStartPrograms?.() === false) {
    throw new PurserError(
      "forbidden",
      `Cannot run ${program}: Deno doesn't let this program start others; add --allow-run to its permissions, or install it by npm`,
    );
  }
  const signals = catchSignals(terminal);
  const { opened, name } = await openNamed(ctx, program);
  try {
    if (signals.waiting[0] !== undefined) return await exitCodeOfSignal(signals.waiting[0]);
    const budget = budgetUsd === undefined ? undefined : await addBudget(ctx, opened, { name, budgetUsd });
    const began = clock.monotonic();
    const of = { ...opened, program: baseName(program) };
    const running = await runCommand([program, ...argumentsFor(of.program, opened), ...rest], {
      env: commandEnvironment(env, of),
      clock,
      isOnTerminal: terminal.keys !== undefined,
      signals,
    });
    const guard = budget === undefined ? undefined : stopAtBudget(opened, budget, async () => {
      ctx.warn(`The budget of $${budgetUsd} is reached: the command is stopped`);
      await running.stop();
    });
    const { code, reason } = await running.ended;
    if (guard) guard.hasEnded = true;
    const durationMs = Math.round(clock.monotonic() - began);
    const underWay = await opened.end();
    if (underWay > 0) ctx.warn(`${countOf(underWay, "call")} did not end, and the cost lacks them`);
    await guard?.done();
    if (reason !== undefined) ctx.say(reason);
    const captured: Captured = {
      name,
      key_id: opened.keyId,
      command: args,
      exit_code: guard?.hasStopped ? EXIT.budgetExceeded : code,
      duration_ms: durationMs,
      budget_usd: budgetUsd ?? null,
      budget_reached: false,
      ...await readCosts(opened),
    };
    if (guard) captured.budget_reached = guard.hasStopped || await wasRefused(opened, budget!);
    await report(ctx, captured);
    return captured.exit_code;
  } finally {
    await endKey(ctx, opened);
  }
}

const baseName = (program: string) => program.split(/[\\/]/).at(-1) ?? program;

/** Opens the server of a command. Its key has the command's name, so that its agent does; with the time, where a key has it already. */
async function openNamed(
  ctx: CommandContext,
  program: string,
): Promise<{ opened: OpenCapture; name: string }> {
  const name = ctx.options.read("name", checkName) ?? baseName(program);
  try {
    return { opened: await openCapture(ctx, name), name };
  } catch (error) {
    if (!(error instanceof PurserError) || error.code !== "conflict") throw error;
    const later = `${name}-${toIso(ctx.clock.now()).replaceAll(/[-:]|\.\d+Z/g, "")}`;
    return { opened: await openCapture(ctx, later), name: later };
  }
}

async function addBudget(
  { options }: CommandContext,
  { send, keyId }: OpenCapture,
  { name, budgetUsd }: { name: string; budgetUsd: number },
): Promise<string> {
  const mode = options.oneOf("budget-mode", ["strict", "stop"]) ?? "strict";
  const json = { name, limit_usd: budgetUsd, per: "lifetime", key_id: keyId, mode };
  const answer = await send("/budgets", { method: "POST", json });
  if (!answer.ok) throw await (await import("../../../client/mod.ts")).errorOf(answer);
  return (await answer.json() as Budget).budget_id;
}

const readBudget = async ({ send }: OpenCapture, budgetId: string) =>
  await (await send(`/budgets/${budgetId}`)).json() as Budget;

/**
 * Stops the command once its calls have reached its budget, if some of them have gone past the gateway: that refuses the others, and
 * the command learns of it.
 */
function stopAtBudget(opened: OpenCapture, budgetId: string, stop: () => Promise<void>) {
  let reading: Promise<void> | undefined;
  let isAgain = false;
  const guard = {
    hasStopped: false,
    /** The command has ended by itself. */
    hasEnded: false,
    done: async () => await reading,
  };
  const read = async () => {
    do {
      isAgain = false;
      const { state } = await readBudget(opened, budgetId);
      if (state !== "reached" || guard.hasStopped || guard.hasEnded) continue;
      if ((await readCosts(opened)).total.lower_bound_calls === 0) continue;
      guard.hasStopped = true;
      await stop();
    } while (isAgain);
  };
  opened.onCall(() => {
    isAgain = true;
    reading ??= read().catch(() => {}).finally(() => reading = undefined);
  });
  return guard;
}

async function wasRefused(opened: OpenCapture, budgetId: string): Promise<boolean> {
  return ((await readBudget(opened, budgetId)).refused_calls ?? 0) > 0;
}

async function readCosts({ send, keyId }: OpenCapture): Promise<Pick<Captured, "total" | "by_model">> {
  const [total, rows] = await Promise.all([
    send(`/costs/total?key_id=${keyId}`),
    send(`/costs?group_by=model&key_id=${keyId}&limit=1000`),
  ]);
  return { total: await total.json(), by_model: await rows.json() };
}

async function report(ctx: CommandContext, captured: Captured): Promise<void> {
  const json = JSON.stringify(captured);
  const path = ctx.options.text("output");
  if (path !== undefined) await replaceFile(path, json + "\n");
  ctx.terminal.stderr.write((ctx.isJson ? json : renderCapture(ctx, captured)) + "\n");
}

/** Revokes the key, and removes its budget, whose limit no call could count in any more. */
async function endKey(ctx: CommandContext, { send, keyId, close }: OpenCapture): Promise<void> {
  try {
    const budgets = await (await send(`/budgets?limit=1000`)).json() as Budget[];
    for (const { budget_id, key_id } of budgets) {
      if (key_id === keyId) await send(`/budgets/${budget_id}`, { method: "DELETE" });
    }
    await send(`/keys/${keyId}`, { method: "DELETE" });
  } catch (error) {
    ctx.warn(`The key ${keyId} is still active: ${messageOf(error)}; revoke it with purser keys revoke`);
  } finally {
    await close();
  }
}
