/**
 * A process that does everything that processes do to a database at once: runs, metered calls, reports, imports,
 * repricings, roll-ups, sweeps and changes of rules, at random. It takes orders, one in JSON on each line of standard input, and prints a line for
 * every acknowledgement: what was acknowledged must be in the books, whatever happens to the process.
 */
import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRule, listRules, removeRule, updateRule } from "../../src/alerts/mod.ts";
import { reportCalls, rollUp } from "../../src/calls/mod.ts";
import { applyRepricing } from "../../src/calls/repricing/mod.ts";
import { PriceOverride } from "../../src/contract/price_override.ts";
import { BudgetExceededError } from "../../src/mod.ts";
import { type Clock, DAY_MS, systemClock } from "../../src/kernel/clock.ts";
import { toCanonicalText } from "../../src/kernel/json/canonical_json.ts";
import { openCore, type WholeCore } from "../../src/service/mod.ts";
import { sweepExpired } from "../../src/service/sweeps.ts";
import { PurserError } from "../../src/kernel/errors.ts";
import { sweepWindows } from "../../src/ledger/mod.ts";
import { meter, runAgent } from "../../src/runner/mod.ts";
import { importSession } from "../../src/snapshots/mod.ts";
import { writeDocument } from "../../src/snapshots/document/mod.ts";
import { LOCAL_PRICE } from "../harness/booking.ts";
import { seededRandom } from "../harness/random.ts";
import { reportOf } from "../harness/reported_calls.ts";
import { TextLineStream } from "../harness/text_lines.ts";
import { type Line, type Order, type Place, REFUSED, STRICT_LIMIT_NANO_USD } from "./books_orders.ts";
import { interceptSqlite } from "./driver_faults.ts";

/** Works until it is told to end, or killed. */
export async function work(): Promise<void> {
  const encoder = new TextEncoder();
  const print = (line: Line) => void Deno.stdout.writeSync(encoder.encode(JSON.stringify(line) + "\n"));
  let core: WholeCore | undefined;
  let name = "";
  let provider: string | undefined;
  let rest = new AbortController();
  let working: Promise<void> = Promise.resolve();
  let done = 0;
  let works = 0;
  let offsetMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + offsetMs };
  const sqlite = await interceptSqlite((moment) => print({ hit: moment }));
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const text of lines) {
    const order = JSON.parse(text) as Order;
    if ("open" in order) {
      ({ name, provider } = order.open);
      core = await open(order.open, clock);
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
      const once = `${name}${String(++works).padStart(3, "0")}`; // the number of an action begins anew
      working = doThings({ core: core!, name: once, print, provider, ...order.work, rest: rest.signal });
      if (order.work.count !== undefined) await working;
    }
    if ("step" in order) offsetMs = order.step;
    if ("fault" in order) sqlite.order(order.fault);
    if ("rest" in order) {
      sqlite.order(undefined);
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

async function open(place: Place, clock: Clock): Promise<WholeCore> {
  const { db, host, hook, provider, outputUsdPerMillion = 2 } = place;
  return await openCore({
    clock,
    config: {
      dbUrl: db,
      durability: "full",
      environment: "test",
      remoteTimeoutMs: place.timeoutMs ?? 10_000,
      maxBodyBytes: 1_000_000,
      prices: [
        LOCAL_PRICE,
        PriceOverride.parse({
          ...{ provider: "fake", model: "steps", input_usd_per_million: 1 },
          output_usd_per_million: outputUsdPerMillion,
        }),
      ],
      ...(provider && { providers: { fake: { baseUrl: provider } } }),
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
  core: WholeCore;
  name: string;
  print: (line: Line) => void;
  seed: number;
  base: number;
  lanes: number;
  count?: number;
  changesRules?: boolean;
  /** The database may be unavailable meanwhile. */
  isAway?: boolean;
  hasAll?: boolean;
  pauseMs?: number;
  /** The base URL of the model provider. */
  provider?: string;
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
const MORE_DEEDS: typeof DEEDS = [[1, importDocument], [1, reprice]];

async function doThings(doing: Doing): Promise<void> {
  const random = seededRandom(doing.seed);
  const pick = (count: number) => Math.floor(random() * count);
  const deeds = [...DEEDS, ...doing.changesRules ? RULE_DEEDS : [], ...doing.hasAll ? MORE_DEEDS : []]
    .flatMap(([weight, deed]) => Array.from({ length: weight }, () => deed));
  let number = 0;
  const lane = async () => {
    while (!doing.rest.aborted && number < (doing.count ?? Infinity)) {
      try {
        await systemClock.sleep(pick(doing.pauseMs ?? LONGEST_PAUSE_MS)); // so that one read covers the books of all kills
        await deeds[pick(deeds.length)]!({ ...doing, pick, number: ++number });
      } catch (thrown) {
        // The query builder wraps errors of the store; the API unwraps them in the same way.
        const error = thrown instanceof Error && thrown.cause instanceof PurserError ? thrown.cause : thrown;
        if (error instanceof PurserError && error.code === "unavailable") doing.print({ refused: true });
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
  if (/ahead of this server's clock/.test(error.message)) return true; // which was set back
  return ["conflict", "budget_exceeded", "not_found", ...isAway ? ["unavailable"] : []].includes(error.code);
}

async function run({ core, pick, print, provider }: Deeds): Promise<void> {
  const agentId = `agent-${pick(3)}`;
  const budgets = [null, null, 60_000n, 300_000n];
  const result = await runAgent(core, {
    agent: {
      ...AGENT_DEFAULTS,
      agentId,
      model: provider ? "fake:steps" : "demo:echo",
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

async function meterCall({ core, pick, provider }: Deeds): Promise<void> {
  const model = provider
    ? createOpenAICompatible({ name: "local", baseURL: provider })("priced")
    : new MockLanguageModelV4({
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
  await reportCalls(core, "report", ids.map((id) => reportOf(id, base)));
  print({ reported: ids });
}

/** A call that any process may report, at any time. */
async function reportAgain({ core, base, pick, print }: Deeds): Promise<void> {
  const id = `shared-${pick(150)}`;
  await reportCalls(core, "report", [reportOf(id, base)]);
  print({ reported: [id] });
}

async function reportConflict({ core, name, number, base, pick, print }: Deeds): Promise<void> {
  const id = `shared-${pick(150)}`;
  const call = reportOf(id, base);
  await reportCalls(core, "report", [call]);
  print({ reported: [id] });
  try {
    await reportCalls(core, "report", [
      { ...call, callId: `${REFUSED}.${name}.${number}` },
      { ...call, costUsd: call.costUsd + 1 },
    ]);
    print({ trouble: `${id} was taken with another cost` });
  } catch (error) {
    if (!(error instanceof PurserError && error.code === "conflict")) throw error;
  }
}

/** Replaces a session by a document that any process may import. */
async function importDocument({ core, base, name, number, print, pick }: Deeds): Promise<void> {
  const document = Number(name.replace(/\D/g, "")) * 10_000 + number;
  const at = new Date(base).toISOString();
  const head = {
    ...{ schema_version: 1, agent_id: "imported", session_id: `imported-${document % 3}`, tags: {} },
    ...{ state: { status: "idle" }, event_log_count: document, source_environment: "test", exported_at: at },
  };
  const count = 5 + pick(40);
  const messages = async function* () {
    for (let index = 0; index < count; index++) {
      yield [toCanonicalText({ id: `msg_${document}_${index}`, created_at: at, role: "user", content: "x" })];
    }
  };
  await importSession(core, writeDocument({ head, messages: messages() }));
  print({ imported: document });
}

/** Prices the calls of all processes by the price of this one. */
async function reprice({ core, base, print }: Deeds): Promise<void> {
  const [from, to] = [base - 10 * DAY_MS, base + 10 * DAY_MS].map((at) => new Date(at).toISOString());
  const { repricing_id, status } = await applyRepricing(core, { from, to, provider: "fake" });
  if (status === "applied") print({ repriced: repricing_id! });
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
