/**
 * A process that does everything that processes do to a database at once: runs, metered calls, reports, roll-ups, sweeps
 * and changes of rules, at random. It takes orders, one in JSON on each line of standard input, and prints a line for
 * every acknowledgement: what was acknowledged must be in the books, whatever happens to the process.
 */
import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createRule, listRules, removeRule, updateRule } from "../../src/alerts/mod.ts";
import { bookReportedCalls, rollUp } from "../../src/booking/mod.ts";
import { BudgetExceededError } from "../../src/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Core, openCore, sweepExpired } from "../../src/service/mod.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { sweepWindows } from "../../src/ledger/mod.ts";
import { meter, runAgent } from "../../src/runner/mod.ts";
import { LOCAL_PRICE } from "../harness/booking.ts";
import { seededRandom } from "../harness/random.ts";
import { reportOf } from "../harness/reported_calls.ts";
import { TextLineStream } from "../harness/text_lines.ts";

/** The budget of each metered run. */
export const STRICT_LIMIT_NANO_USD = 2_000_000;

/** A database as passed to a process. */
export interface Place {
  /** A path or an address. */
  db: string;
  /** The host name of the database on its server. */
  host?: string;
  /** The URL of the webhooks; without it, alerts go to the log alone. */
  hook?: string;
}

/** An order for a worker. */
export type Order =
  /** Opens the database; its calls carry `name`. */
  | { open: Place & { name: string } }
  /** Performs random actions, some at a time: so many in all, or until it is ordered to rest. */
  | {
    work: {
      seed: number;
      base: number;
      lanes: number;
      count?: number;
      changesRules?: boolean;
      isAway?: boolean;
    };
  }
  | { rest: true }
  /** Delivers what is pending, sweeps if `sweeps`, and closes the database. */
  | { close: { sweeps: boolean } };

/** A line of a worker. */
export interface Line {
  /** The order with this number, from 1, was carried out. */
  done?: number;
  instance?: string;
  /** A call that was published on the bus, and its cost. */
  call?: { id: string; cost: number };
  /** A run that has ended. */
  run?: { id: string; status: string; cost: number; steps: number };
  /** Calls of a report that was acknowledged; they are in the ledger. */
  reported?: string[];
  alert?: string;
  /** Something unexpected. */
  trouble?: string;
}

/** A call with this name must never be booked: its report also holds a call that is refused. */
export const REFUSED = "refused";

async function work(): Promise<void> {
  const encoder = new TextEncoder();
  const print = (line: Line) => void Deno.stdout.writeSync(encoder.encode(JSON.stringify(line) + "\n"));
  let core: Core | undefined;
  let name = "";
  let rest = new AbortController();
  let working: Promise<void> = Promise.resolve();
  let done = 0;
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const text of lines) {
    const order = JSON.parse(text) as Order;
    if ("open" in order) {
      name = order.open.name;
      core = await open(order.open);
      await core.prices.ready?.();
      print({ instance: core.instanceId });
      core.bus.subscribe(({ type, payload }) => {
        if (type === "cost.recorded") {
          print({ call: { id: payload.call_id as string, cost: (payload.cost_usd ?? 0) as number } });
        }
        if (type === "alert.triggered") print({ alert: payload.alert_id as string });
      });
    }
    if ("work" in order) {
      rest = new AbortController();
      working = doThings({ core: core!, name, print, ...order.work, rest: rest.signal });
      if (order.work.count !== undefined) await working;
    }
    if ("rest" in order) {
      rest.abort();
      await working;
    }
    if ("close" in order) {
      await core!.drainDeliveries();
      if (order.close.sweeps) await sweepExpired(core!);
      await core!.close();
      core = undefined;
    }
    print({ done: ++done });
  }
}

async function open({ db, host, hook }: Place): Promise<Core> {
  return await openCore({
    config: {
      dbUrl: db,
      durability: "full",
      environment: "test",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 1_000_000,
      prices: [LOCAL_PRICE],
      channels: hook
        ? [{ kind: "webhook", name: "ops", minSeverity: "info", timeoutMs: 30_000, settings: { url: hook } }]
        : [],
      allowPrivateNetworks: ["127.0.0.0/8"],
    },
    ...(host && { fetch: fetchAs(host) }),
  });
}

function fetchAs(host: string): typeof globalThis.fetch {
  const client = Deno.createHttpClient({ allowHost: true });
  return (input, init) => {
    const request = new Request(input, init);
    const headers = new Headers(request.headers);
    headers.set("host", host);
    const withClient: RequestInit & { client: Deno.HttpClient } = { client };
    return fetch(new Request(request, { headers }), withClient);
  };
}

const LONGEST_PAUSE_MS = 40;

interface Doing {
  core: Core;
  name: string;
  print: (line: Line) => void;
  seed: number;
  base: number;
  lanes: number;
  count?: number;
  changesRules?: boolean;
  /** The database may be unavailable meanwhile. */
  isAway?: boolean;
  rest: AbortSignal;
}

/** The input of each action: randomness, and a number of its own. */
type Deeds = Doing & { pick: (count: number) => number; number: number };

const DEEDS: [weight: number, deed: (doing: Deeds) => Promise<void>][] = [
  [6, run],
  [6, meterCall],
  [6, report],
  [2, reportAgain],
  [1, reportConflict],
  [1, ({ core }) => rollUp(core)],
  [1, ({ core }) => sweepWindows(core)],
];
const RULE_DEEDS: typeof DEEDS = [[1, addRule], [2, switchRule], [1, moveRule], [1, dropRule]];

async function doThings(doing: Doing): Promise<void> {
  const random = seededRandom(doing.seed);
  const pick = (count: number) => Math.floor(random() * count);
  const deeds = [...DEEDS, ...doing.changesRules ? RULE_DEEDS : []].flatMap(([weight, deed]) =>
    Array.from({ length: weight }, () => deed)
  );
  let number = 0;
  const lane = async () => {
    while (!doing.rest.aborted && number < (doing.count ?? Infinity)) {
      try {
        await systemClock.sleep(pick(LONGEST_PAUSE_MS)); // so that one read covers the books of all kills
        await deeds[pick(deeds.length)]!({ ...doing, pick, number: ++number });
      } catch (error) {
        if (!isExpected(error, doing)) {
          doing.print({ trouble: error instanceof Error ? `${error.stack}` : `${error}` });
        }
      }
    }
  };
  await Promise.all(Array.from({ length: doing.lanes }, lane));
}

/** Expected errors: a busy session, a spent budget, a rule that another process has removed. */
function isExpected(error: unknown, { isAway }: Doing): boolean {
  if (error instanceof BudgetExceededError) return true;
  if (!(error instanceof PurserError)) return false;
  return ["conflict", "budget_exceeded", "not_found", ...isAway ? ["unavailable"] : []].includes(error.code);
}

async function run({ core, pick, print }: Deeds): Promise<void> {
  const agentId = `agent-${pick(3)}`;
  const budgets = [null, null, 60_000n, 300_000n];
  const result = await runAgent(core, {
    agent: {
      ...AGENT_DEFAULTS,
      agentId,
      model: "demo:echo",
      tools: pick(2) === 0 ? ["calculator"] : [],
      costBudgetNanoUsd: budgets[pick(budgets.length)]!,
      budgetMode: pick(2) === 0 ? "stop" : "strict",
      maxOutputTokens: 500,
    },
    input: `What is ${pick(50)} * 23? ${"Explain. ".repeat(pick(40))}`,
    ...(pick(3) > 0 && { sessionId: `s-${pick(12)}-${agentId}` }),
  });
  const { run_id: id, status, token_usage, steps } = result;
  print({ run: { id, status, cost: token_usage.cost_usd ?? 0, steps } });
}

const CALL = { inputTokens: 100, outputTokens: 50 };

async function meterCall({ core, pick }: Deeds): Promise<void> {
  const model = new MockLanguageModelV4({
    provider: "local",
    modelId: "priced",
    doGenerate: async () => {
      await systemClock.sleep(pick(8));
      return {
        content: [{ type: "text", text: "ok" }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: CALL.inputTokens, noCache: CALL.inputTokens, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: CALL.outputTokens, text: CALL.outputTokens, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
  const isLimited = pick(2) === 0;
  const metered = meter(core, model, {
    agentId: `agent-${pick(3)}`,
    ...(pick(2) === 0 && { sessionId: `s-${pick(12)}` }),
    ...(isLimited && {
      runId: `strict-${pick(200)}`,
      costBudgetUsd: STRICT_LIMIT_NANO_USD / 1e9,
      budgetMode: "strict" as const,
    }),
  });
  // A reservation of another process would be waited for until its lease expires.
  const abortSignal = AbortSignal.timeout(300);
  try {
    await generateText({
      model: metered,
      prompt: "x".repeat(40),
      maxOutputTokens: CALL.outputTokens,
      maxRetries: 0,
      abortSignal,
    });
  } catch (error) {
    if (!abortSignal.aborted) throw error;
  }
}

/** Calls that are booked all or none: their ids contain their number. */
async function report({ core, name, number, base, pick, print }: Deeds): Promise<void> {
  const size = 1 + pick(12);
  const ids = Array.from({ length: size }, (_, index) => `${name}.${number}.${index}of${size}`);
  await bookReportedCalls(core, ids.map((id) => reportOf(id, base)));
  print({ reported: ids });
}

/** A call that any process may report, at any time. */
async function reportAgain({ core, base, pick, print }: Deeds): Promise<void> {
  const id = `shared-${pick(150)}`;
  await bookReportedCalls(core, [reportOf(id, base)]);
  print({ reported: [id] });
}

async function reportConflict({ core, name, number, base, pick, print }: Deeds): Promise<void> {
  const id = `shared-${pick(150)}`;
  const call = reportOf(id, base);
  await bookReportedCalls(core, [call]);
  print({ reported: [id] });
  try {
    await bookReportedCalls(core, [
      { ...call, callId: `${REFUSED}.${name}.${number}` },
      { ...call, costUsd: call.costUsd + 1 },
    ]);
    print({ trouble: `${id} was taken with another cost` });
  } catch (error) {
    if (!(error instanceof PurserError && error.code === "conflict")) throw error;
  }
}

const TYPES = ["per_run_usd", "per_session_usd", "per_hour_usd", "per_day_usd", "per_month_usd"] as const;
const THRESHOLDS = [0.000_05, 0.000_2, 0.001, 0.01];

async function addRule({ core, pick }: Deeds): Promise<void> {
  await createRule(core, {
    name: "By chance",
    threshold_type: TYPES[pick(TYPES.length)]!,
    threshold_usd: THRESHOLDS[pick(THRESHOLDS.length)]!,
    severity: "warning",
    cooldown_seconds: [0, 1, 3_600][pick(3)]!,
    repeat: pick(2) === 0 ? "cooldown" : "once_per_window",
    agent_id: pick(3) === 0 ? `agent-${pick(3)}` : null,
  });
}

async function ruleOf({ core, pick }: Deeds): Promise<string | undefined> {
  const rules = await listRules(core);
  return rules[pick(rules.length)]?.rule_id;
}

async function switchRule(doing: Deeds): Promise<void> {
  const ruleId = await ruleOf(doing);
  if (ruleId) await updateRule(doing.core, ruleId, { enabled: doing.pick(2) === 0 });
}

async function moveRule(doing: Deeds): Promise<void> {
  const ruleId = await ruleOf(doing);
  const threshold_usd = THRESHOLDS[doing.pick(THRESHOLDS.length)]!;
  if (ruleId) await updateRule(doing.core, ruleId, { threshold_usd, cooldown_seconds: doing.pick(3) });
}

async function dropRule(doing: Deeds): Promise<void> {
  const ruleId = await ruleOf(doing);
  if (ruleId) await removeRule(doing.core, ruleId);
}

// Comes last: from here on everything is set up.
if (import.meta.main) await work();
