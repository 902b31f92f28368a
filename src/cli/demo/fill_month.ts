import { createRule } from "../../alerts/mod.ts";
import { defineAgent, toAgentDefinition } from "../../agents/mod.ts";
import { reportCalls, type ReportedCall } from "../../calls/mod.ts";
import { createBudget, getBudget, raiseBudget, updateBudget } from "../../budgets/mod.ts";
import { startOf } from "../../contract/windows.ts";
import { DAY_MS, type fixedClock, HOUR_MS, MINUTE_MS } from "../../kernel/clock.ts";
import { PurserError } from "../../kernel/errors.ts";
import { authenticate, createKey, revokeKey } from "../../keys/mod.ts";
import { viewerOf } from "../../ledger/mod.ts";
import { usageOf } from "../../pricing/mod.ts";
import { runAgent } from "../../runner/mod.ts";
import type { WholeCore } from "../../service/mod.ts";
import type { Random } from "./random.ts";
import { agentOf, COMPANY, type DemoAgent } from "./scene.ts";
import { type Script, Scripts } from "./script.ts";
import { type ScriptedModels, toolsOf } from "./scripted_models.ts";

/** The parts of the demo's world. The clock of the core is moved along the month. */
export interface DemoWorld {
  core: WholeCore;
  random: Random;
  models: ScriptedModels;
}

const DAYS = 30;
/** The last days, with more runs than before. */
const DAYS_WITH_RUNS = 7;
const DAYS_BEFORE_REVOCATION = 7;

/** The keys by name, each with its text. */
type Keys = ReadonlyMap<string, { id: string; text: string }>;

/** Fills an empty database with 30 days that end at `end`, through the functions that book, decide and refuse calls. */
export async function fillMonth(
  world: DemoWorld & { clock: ReturnType<typeof fixedClock> },
  { end, signal }: { end: number; signal?: AbortSignal },
): Promise<void> {
  const { core, clock, random } = world;
  const keys = await createKeys(core);
  await defineAgents(core);
  for (const rule of COMPANY.rules) await createRule(core, rule);
  const budgetIds = await createBudgets(core, keys);
  const scripts = new Scripts(random);
  const moments = specialMoments(scripts, end);
  let reports: ReportedCall[] = [];

  const moveTo = (at: number) => clock.advance(Math.max(0, Math.min(at, end) - clock.now()));
  const revokedAt = clock.now() + DAYS_BEFORE_REVOCATION * DAY_MS;
  let isRevoked = false;
  for (let hour = clock.now(); hour < end; hour += HOUR_MS) {
    signal?.throwIfAborted();
    if (!isRevoked && hour >= revokedAt) {
      await revokeKey(core, keys.get(COMPANY.revokedKey)!.id);
      isRevoked = true;
    }
    const runs = moments.filter(({ at }) => at >= hour && at < hour + HOUR_MS);
    for (const agent of COMPANY.agents) {
      // The company grows: twice as much at the end as at the start.
      const growth = 1.2 - 0.6 * (end - hour) / (DAYS * DAY_MS);
      const sessions = random.count(growth * sessionsIn(agent, hour));
      for (let left = sessions; left > 0; left--) {
        const at = hour + random.whole(0, HOUR_MS - 1);
        // Older sessions are rarely opened, and a run takes longer to make than a report.
        const isOld = at < end - DAYS_WITH_RUNS * DAY_MS;
        const share = isOld && agent.runShare < 1 ? agent.runShare / 5 : agent.runShare;
        if (random.next() < share) {
          runs.push({ at, agent, script: scripts.write(agent) });
        } else reports.push(...reportSession({ agent, scripts, random }, at));
      }
    }
    for (const { at, agent, script } of runs.sort((a, b) => a.at - b.at)) {
      if (Math.max(at, clock.now()) > end - 5 * MINUTE_MS) continue;
      moveTo(at);
      await runScript(world, { agent, script, keyId: await useKey(core, agent, keys, isRevoked) });
      await core.monitor.idle();
    }
    moveTo(hour + HOUR_MS);
    const due = reports.filter(({ at }) => at <= clock.now()).sort((a, b) => a.at - b.at);
    reports = reports.filter(({ at }) => at > clock.now());
    const used = new Map<string, string | undefined>();
    for (const { agentId } of due) {
      if (!used.has(agentId)) used.set(agentId, await useKey(core, agentOf(agentId), keys, isRevoked));
    }
    if (due.length > 0) {
      await reportCalls(core, "report", due.map((call) => ({ ...call, keyId: used.get(call.agentId) })));
    }
    await core.drainDeliveries();
  }
  await setLimits(core, budgetIds);
}

/** Authenticates an agent's key, as a request does, and returns its id. Laptops have the old key until it is revoked. */
async function useKey(
  core: WholeCore,
  { key }: DemoAgent,
  keys: Keys,
  isRevoked: boolean,
): Promise<string | undefined> {
  if (key === undefined) return undefined;
  const { id, text } = keys.get(key === "laptops" && !isRevoked ? COMPANY.revokedKey : key)!;
  await authenticate(core, `Bearer ${text}`);
  return id;
}

/** Runs an agent by a script, to its answer, its refusal or its failure. */
export async function runScript(
  { core, models }: DemoWorld,
  { agent, script, keyId, signal }: {
    agent: DemoAgent;
    script: Script;
    keyId?: string;
    signal?: AbortSignal;
  },
): Promise<void> {
  const forget = models.follow(script);
  try {
    await runAgent(core, {
      agent: definitionOf(core, agent),
      input: script.ask,
      viewer: viewerOf({ keyId }),
      signal,
    });
  } catch (error) {
    // The end of the run is in the books.
    const { code = "" } = error instanceof PurserError ? error : {};
    if (!["budget_exceeded", "provider_error"].includes(code)) throw error;
  } finally {
    forget();
  }
}

function definitionOf(core: WholeCore, agent: DemoAgent) {
  return toAgentDefinition(agent.id, {
    model: agent.model,
    system_prompt: agent.systemPrompt,
    tools: [...toolsOf(agent)],
    tags: agent.tags,
    max_steps: 30,
  }, {
    checkModel: (model) => core.models.check(model),
    checkTools: (tools) => core.toolbox.check(tools),
  });
}

async function defineAgents(core: WholeCore): Promise<void> {
  for (const agent of COMPANY.agents) await defineAgent(core, definitionOf(core, agent));
}

async function createKeys(core: WholeCore): Promise<Keys> {
  const keys = new Map<string, { id: string; text: string }>();
  for (const { name, scopes, agentId = null, days } of COMPANY.keys) {
    const expiresAt = days === undefined ? null : core.clock.now() + days * DAY_MS;
    const { key_id: id, key: text } = await createKey(core, { name, scopes, agentId, expiresAt });
    keys.set(name, { id, text });
  }
  return keys;
}

/** Creates the budgets, and returns their ids by name. */
async function createBudgets(core: WholeCore, keys: Keys): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const { key, ...budget } of COMPANY.budgets) {
    const { budget_id } = await createBudget(core, { ...budget, ...(key && { key_id: keys.get(key)!.id }) });
    ids.set(budget.name, budget_id);
  }
  return ids;
}

/** Sets the limit of the month so that 85% of it are spent, and that of a week, which is raised, so that half is. */
async function setLimits(core: WholeCore, budgetIds: ReadonlyMap<string, string>): Promise<void> {
  const [monthId, weekId] = [budgetIds.get("Everything, month")!, budgetIds.get("Coder, week")!];
  const spent = async (id: string) => Math.max(1, (await getBudget(core, id)).spent_usd);
  await updateBudget(core, monthId, { limit_usd: Math.ceil(await spent(monthId) / 0.85) });
  const half = Math.ceil(await spent(weekId));
  await updateBudget(core, weekId, { limit_usd: half + 5 });
  await raiseBudget(core, weekId, { extra_usd: half, reason: "Release week" });
}

/** Returns the sessions of an agent that begin in an hour, on average. */
function sessionsIn({ sessions }: DemoAgent, time: number): number {
  const date = new Date(time);
  const hours = [0, 6].includes(date.getUTCDay()) ? sessions.weekend : sessions.weekday;
  return hours.find(([from, to]) => from <= date.getUTCHours() && date.getUTCHours() < to)?.[2] ?? 0;
}

/** Returns the runs that something out of the ordinary happens in, by the time that has passed since. */
function specialMoments(scripts: Scripts, end: number): { at: number; agent: DemoAgent; script: Script }[] {
  const [coder, lab] = [agentOf("coder"), agentOf("prompt-lab")];
  const [researcher, reporter] = [agentOf("researcher"), agentOf("reporter")];
  return [
    { at: end - 9 * DAY_MS, agent: reporter, script: scripts.writeFailure(reporter) },
    { at: end - 20 * HOUR_MS, agent: researcher, script: scripts.writeLoop(researcher) },
    { at: end - 3 * HOUR_MS, agent: coder, script: scripts.writeFlood(coder) },
    { at: end - 50 * MINUTE_MS, agent: lab, script: scripts.write(lab) },
  ];
}

interface Reporting {
  agent: DemoAgent;
  scripts: Scripts;
  random: Random;
}

/** Makes up the calls of a session that another program has made. A few have no known price, or estimated tokens. */
function reportSession({ agent, scripts, random }: Reporting, start: number): ReportedCall[] {
  const [provider, model] = agent.model.split(":") as [string, string];
  const isUnpriced = agent.id === "coder" && random.next() < 0.06;
  const sessionId = `${agent.id}-${start.toString(36)}`;
  let at = start;
  return scripts.tokens(agent, random.whole(...agent.calls)).map((tokens, index) => {
    const durationMs = 900 + tokens.output * 11;
    at += durationMs + random.whole(300, 9_000);
    return {
      callId: `${sessionId}-${index + 1}`,
      at,
      agentId: agent.id,
      sessionId,
      runId: null,
      step: null,
      tools: [],
      ...(isUnpriced ? COMPANY.unpriced : { provider, model }),
      usage: usageOf({
        inputTokens: tokens.input,
        outputTokens: tokens.output,
        reasoningTokens: tokens.reasoning,
        cacheReadTokens: tokens.cacheRead,
        cacheWriteTokens: tokens.cacheWrite,
      }),
      durationMs,
      isEstimated: random.next() < 0.004,
      tags: agent.tags,
    };
  });
}

/** Returns the first moment of the month that ends at a time. */
export function startOfMonth(end: number): number {
  return startOf("day", end, 1 - DAYS);
}
