/**
 * A process that books calls and delivers the alerts they fire, as ordered: one order in JSON on each line of standard
 * input. It prints a line when an order is done, and one for each call and alert that it publishes on its bus, which
 * makes them acknowledged outside this process.
 */
import { AGENT_DEFAULTS } from "../../src/contract/limits.ts";
import { createAlertEvaluator, createDispatcher, type RuleInCode } from "../../src/alerts/mod.ts";
import { acknowledgeAlert, resolveAlerts } from "../../src/alerts/follow/mod.ts";
import { readWaiting } from "../../src/delivery/mod.ts";
import { reportCalls } from "../../src/calls/mod.ts";
import type { ReportedCall } from "../../src/calls/mod.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openCore, type WholeCore } from "../../src/service/mod.ts";
import { runAgent } from "../../src/runner/mod.ts";
import { TextLineStream } from "../harness/text_lines.ts";

/** The name of the channel; `log` is there as well. */
export const CHANNEL = "ops";
/** The timeout of an attempt; no other sleep is as long, so that an attempt is recognized by it. */
export const ATTEMPT_MS = 59_876;

/** The moment at which a worker kills itself: after a commit, before a send, or between a response and its commit. */
export type Moment = "booked" | "stated" | "claimed" | "answered";

/** An order for a worker. */
export type Order =
  /** Opens the database; its webhooks carry `name`, unless they are events of PagerDuty. */
  | { open: { db: string; url: string; name: string; rules?: RuleInCode[]; isPager?: boolean } }
  /** Runs agents, some at a time; kills itself when `moment` is reached for the `turn`th time from now. */
  | { run: { first: number; count: number; kill?: { moment: Moment; turn: number } } }
  /** Books calls that were made elsewhere, each in a request of its own, many at a time. */
  | { report: ReportedCall[] }
  /** Acknowledges the newest alert, or looks for those that are over; kills itself as a run does. */
  | { state: "acknowledge" | "resolve"; kill?: { moment: Moment; turn: number } }
  /** Waits until nothing is left to be delivered. */
  | { drain: true }
  | { close: true };

/** A line of a worker. */
export interface Line {
  /** The order with this number, from 1, was carried out. */
  done?: number;
  call?: string;
  alert?: string;
  /** The worker is about to kill itself. */
  dies?: Moment;
}

/** The settings with which these tests open a database. */
export const configOf = (dbUrl: string) => ({
  dbUrl,
  durability: "full" as const,
  environment: "test",
  remoteTimeoutMs: 10_000,
  maxBodyBytes: 1_000_000,
});

const RUNS_AT_ONCE = 3;
const REPORTS_AT_ONCE = 32;
const LOOK_EVERY_MS = 10;
const TIMEOUT_MS = 20_000;

/** Works until it is told to end, or killed. */
export async function work(): Promise<void> {
  const encoder = new TextEncoder();
  const print = (line: Line) => void Deno.stdout.writeSync(encoder.encode(JSON.stringify(line) + "\n"));
  let kill: { moment: Moment; turn: number } | undefined;
  const reach = (moment: Moment) => {
    if (kill?.moment !== moment || --kill.turn > 0) return;
    print({ dies: moment });
    Deno.kill(Deno.pid, "SIGKILL");
  };
  let core: WholeCore | undefined;
  let done = 0;
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const order = JSON.parse(line) as Order;
    if ("open" in order) {
      core = await open(order.open, reach);
      core.bus.subscribe(({ type, payload }) => {
        if (type === "cost.recorded") {
          print({ call: payload.call_id as string });
          reach("booked");
        }
        if (type === "alert.triggered") print({ alert: payload.alert_id as string });
      });
    }
    if ("run" in order) {
      const { first, count } = order.run;
      kill = order.run.kill;
      await inParallel(numbers(first, count), RUNS_AT_ONCE, (number) => run(core!, number));
    }
    if ("report" in order) {
      await inParallel(order.report, REPORTS_AT_ONCE, async (call) => {
        await reportCalls(core!, "report", [call]);
      });
    }
    if ("state" in order) {
      kill = order.kill;
      const ctx = {
        ...core!,
        author: { keyId: null, name: "lea", actor: "local" as const },
        wakeDispatcher(ids: string[]) {
          reach("stated");
          core!.wakeDispatcher(ids);
        },
      };
      const { rows } = await core!.store.read({ sql: "SELECT alert_id FROM alerts ORDER BY position DESC" });
      if (order.state === "acknowledge") await acknowledgeAlert(ctx, String(rows[0]![0]), "seen");
      else await resolveAlerts(ctx);
    }
    if ("drain" in order) {
      const deadline = performance.now() + TIMEOUT_MS;
      while ((await readWaiting(core!)).length > 0) {
        if (performance.now() > deadline) throw new Error("Cannot drain the outbox: something stays there");
        await systemClock.sleep(LOOK_EVERY_MS);
      }
    }
    if ("close" in order) await core!.close();
    print({ done: ++done });
    if ("close" in order) return;
  }
}

async function open(
  { db, url, name, rules = [], isPager = false }: Extract<Order, { open: unknown }>["open"],
  reach: (moment: Moment) => void,
): Promise<WholeCore> {
  const settings = isPager ? { url, routing_key: "R".repeat(32) } : { url, headers: { "x-worker": name } };
  const kind = isPager ? "pagerduty" : "webhook";
  const core = await openCore({
    config: {
      ...configOf(db),
      channels: [{
        ...{ kind, name: CHANNEL, settings },
        ...{ minSeverity: "info", timeoutMs: ATTEMPT_MS, ...isPager && { sendResolved: true as const } },
      }],
      allowPrivateNetworks: ["127.0.0.0/8"],
    },
    alerts: createAlertEvaluator({ rules, dispatcher: createDispatcher([]) }),
  });
  return noticeAttempts(core, reach);
}

/** Intercepts the attempts of a channel: after the claim, before the send; and after the response, before its commit. */
function noticeAttempts(core: WholeCore, reach: (moment: Moment) => void): WholeCore {
  const channel = core.channels.get(CHANNEL)!;
  const { attempt } = channel;
  channel.attempt = async (...delivery) => {
    reach("claimed");
    const result = await attempt(...delivery);
    reach("answered");
    return result;
  };
  return core;
}

/** One run of one or two calls, short or long, so that it stays below the threshold or exceeds it with either. */
async function run(core: WholeCore, number: number): Promise<void> {
  await runAgent(core, {
    agent: {
      ...AGENT_DEFAULTS,
      agentId: `agent-${number % 3}`,
      model: "demo:echo",
      tools: number % 2 === 0 ? ["calculator"] : [],
    },
    input: `What is ${number} * 23? ${"Explain. ".repeat(number % 5 * 10)}`,
  });
}

function numbers(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < items.length) await task(items[next++]!);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}
