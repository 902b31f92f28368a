import type { Connection } from "../../../client/mod.ts";
import { currentPlatform, findDataFile } from "../../../config/mod.ts";
import type { KnownFile } from "../../../ingest/import/mod.ts";
import { MINUTE_MS } from "../../../kernel/clock.ts";
import { sha256Hex } from "../../../kernel/encoding.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { files } from "../../../kernel/files/files.ts";
import { replaceFile } from "../../../kernel/files/replace_file.ts";
import type { CommandContext } from "../../command.ts";
import type { HookInput } from "./hook_input.ts";
import type { AgentHooks } from "./hooks/agent_hooks.ts";
import { reachedIn, type Verdict } from "./run_gate.ts";

/** The time that a hook waits for a server whose last answer still holds. */
const QUICK_MS = 100;
/** The time that it waits for one without. */
const PATIENT_MS = 2_000;
/** The age up to which the last answer of a server holds. */
const MAX_AGE_MS = MINUTE_MS;
/** Files of sessions that were not used for so long are removed. */
const KEPT_MS = 7 * 24 * 60 * MINUTE_MS;

/** The state of a session between its hooks: how far its logs were sent, and the last answer of the server. */
interface Kept {
  at: number;
  verdict: Verdict;
  files: KnownFile[];
  /** The last hook has not waited for the server: the next one does. */
  isLate?: boolean;
}

/**
 * Sends what is new of a session to a server, and returns the budgets of its next call: as the server says, or as it has said within
 * the last minute if it doesn't answer at once.
 *
 * @throws {PurserError} the server has not answered, and its last answer is too old
 */
export async function askServer(
  ctx: CommandContext,
  hooks: AgentHooks,
  input: HookInput,
): Promise<Verdict> {
  const { clock } = ctx;
  const path = await pathOf(ctx, hooks, input);
  const kept = path === undefined ? undefined : await readKept(path);
  const sent = new Map(kept?.files.map((file) => [file.path, file]));
  const store = async (at: number, verdict: Verdict, isLate = false) => {
    if (path !== undefined) {
      await keep(path, { at, verdict, files: [...sent.values()], isLate }, kept === undefined, clock.now());
    }
    return verdict;
  };
  const ended = new AbortController();
  // An answer that comes after the hook has ended is not kept.
  const asked = ask(ctx, hooks, input, sent).then((verdict) =>
    ended.signal.aborted ? verdict : store(clock.now(), verdict)
  );
  const age = kept === undefined ? Infinity : clock.now() - kept.at;
  const last = age >= 0 && age <= MAX_AGE_MS ? kept!.verdict : undefined;
  // Before an agent is stopped by an earlier answer, the server has time to say that the budget was raised. A slow server learns of
  // each second hook's calls at the latest.
  const isQuick = last !== undefined && !kept!.isLate && reachedIn(last).length === 0 &&
    last.endedQuota === undefined;
  const late = clock.sleep(isQuick ? QUICK_MS : PATIENT_MS, ended.signal).then(async () => {
    if (last) return isQuick && !ended.signal.aborted ? await store(kept!.at, last, true) : last;
    // The next hook goes on from there; the answer is too old to hold.
    if (!ended.signal.aborted && sent.size > 0) await store(0, kept?.verdict ?? { checks: [] });
    throw new PurserError("unavailable", `the server has not answered for ${PATIENT_MS / 1_000} s`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([asked, late]);
  } catch (error) {
    if (last) return last;
    throw error;
  } finally {
    ended.abort();
    asked.catch(() => {});
  }
}

async function ask(
  ctx: CommandContext,
  hooks: AgentHooks,
  input: HookInput,
  sent: Map<string, KnownFile>,
): Promise<Verdict> {
  const connection = await ctx.connect();
  if (hooks.hasLogs && input.transcript !== undefined) {
    const { findSessionLogs, importSession } = await import("./import_session.ts");
    const logs = await findSessionLogs(ctx, hooks, { ...input, transcript: input.transcript });
    await importSession(ctx, connection, logs, sent, { isSaved: false });
  }
  const { nextCallOf } = await import("./next_call.ts");
  const call = await nextCallOf(ctx, hooks.agentId, input);
  const { tags, ...subjects } = call;
  const tag = Object.entries(tags).map(([key, value]) => `${key}:${value}`);
  const query = { agent_id: hooks.agentId, session_id: input.session, ...subjects, tag };
  const { checkAndAsk } = await import("./check_and_ask.ts");
  const checks = await checkAndAsk(
    connection,
    { agentId: hooks.agentId, sessionId: input.session, subjects: call },
    async () => await (await connection.api.budgets.check.$get({ query })).json(),
  );
  const endedQuota = ctx.options.has("stop-before-credits")
    ? await askQuota(connection, hooks, tags.machine!)
    : undefined;
  return { checks, endedQuota };
}

async function askQuota(
  { api }: Connection,
  { agentId }: AgentHooks,
  machine: string,
): Promise<string | undefined> {
  const { describeEnded, isOfAllModels } = await import("../../../plans/mod.ts");
  const windows = await (await api.plans.$get({ query: {} })).json();
  const ended = windows.find((window) =>
    window.agent_id === agentId && window.machines.includes(machine) && window.state === "ended" &&
    isOfAllModels(window)
  );
  return ended && describeEnded({
    agent: agentId,
    window: ended.window,
    usedPercent: ended.used_pct,
    resetsAt: ended.resets_at === null ? null : Date.parse(ended.resets_at),
  });
}

/** The folder of what is kept: `gate` beside the default database; undefined without a home folder. */
async function pathOf(
  { env, options, config: { server, apiKey, apiKeyFile } }: CommandContext,
  { agentId }: AgentHooks,
  { session = "" }: HookInput,
): Promise<string | undefined> {
  const data = findDataFile(env, currentPlatform());
  if (data === undefined) return undefined;
  const isGuarded = options.has("stop-before-credits");
  const name = await sha256Hex([server, apiKey, apiKeyFile, isGuarded, agentId, session].join("\0"));
  return `${data.replace(/[^\\/]+$/, "gate")}/${name.slice(0, 32)}.json`;
}

async function readKept(path: string): Promise<Kept | undefined> {
  try {
    const kept = JSON.parse(await files.readText(path));
    return Number.isFinite(kept.at) && Array.isArray(kept.verdict?.checks) && Array.isArray(kept.files)
      ? kept
      : undefined;
  } catch {
    return undefined; // there is none, or a broken one: everything is sent again, and booked once
  }
}

/** Keeps an answer; with the first of a session, what is too old is removed. */
async function keep(path: string, kept: Kept, isFirst: boolean, now: number): Promise<void> {
  try {
    await replaceFile(path, JSON.stringify(kept));
    if (!isFirst) return;
    const folder = path.replace(/\/[^/]+$/, "");
    for (const name of await files.list(folder)) {
      const stamp = await files.stampOf(`${folder}/${name}`);
      if (stamp && now - stamp.modifiedAt > KEPT_MS) await files.remove(`${folder}/${name}`);
    }
  } catch {
    // The next hook asks without it.
  }
}
