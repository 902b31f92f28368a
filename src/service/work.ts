import { builtInChannels } from "../../plugins/mod.ts";
import { readDigestNotification } from "../alerts/follow/mod.ts";
import { askNotifier, readAlertNotification } from "../alerts/mod.ts";
import { createBudgetGate, RENEW_MS } from "../budgets/reservations/mod.ts";
import { createBookingWriter, RollUps } from "../calls/mod.ts";
import { createChannels } from "../delivery/channels/mod.ts";
import { type DispatchContext, startDispatcher } from "../delivery/mod.ts";
import { createGatewayState, endQuietCalls } from "../gateway/mod.ts";
import { messageOf } from "../kernel/errors.ts";
import { createSingleSendFetch } from "../kernel/single_send.ts";
import { readAnomalyNotification, startMonitor } from "../monitor/mod.ts";
import { createLogReader, createRunEndRetries, endLiveRuns } from "../sessions/mod.ts";
import type { CoreOptions, CoreParts, WorkParts } from "./core_parts.ts";
import { createLiveReader } from "./live/mod.ts";
import { channelsOf } from "./parts.ts";

/** The time that a closing process leaves for the first attempts to deliver. */
const DELIVERY_GRACE_MS = 5_000;

/** Creates the parts that make, book and watch calls, and deliver alerts. Of these only the monitor runs in the background. */
export function createWork(core: CoreParts, options: CoreOptions): WorkParts {
  const { config, runtime, env = {} } = options;
  const { store, clock, ids, log, secrets, instanceId } = core;
  return {
    gate: createBudgetGate({
      ...{ store, clock, instanceId, newId: ids.next, known: core.budgets },
      notifier: askNotifier(core),
      approvalTimeoutMs: core.approvalTimeoutSeconds * 1_000,
    }),
    bookings: createBookingWriter(core),
    rollUps: new RollUps(options.rollUp === "never" ? Infinity : undefined),
    channels: createChannels({
      channels: channelsOf(options),
      plugins: { ...builtInChannels, ...runtime?.plugins },
      pluginPaths: config.plugins,
      allowPrivateNetworks: config.allowPrivateNetworks,
      log,
      clock,
      secrets,
      ...runtime?.channels,
    }),
    // At the edge, `fetch` replaces the clients of node:http.
    gateway: createGatewayState({
      env,
      fetch: options.fetch ?? (runtime && createSingleSendFetch()),
      calls: core.gatewayCalls,
    }),
    monitor: startMonitor({ ...core, notifyAnomaliesFrom: config.notifyAnomaliesFrom }),
    logReader: createLogReader(core),
    live: createLiveReader(core),
  };
}

/** The work of a process. */
export type Work = ReturnType<typeof startWork>;

/** Starts the work of a process: the monitor, the dispatcher, and the upkeep of calls in progress. */
export function startWork(core: CoreParts, options: CoreOptions) {
  const work = createWork(core, options);
  const all = { ...core, ...work };
  const { monitor } = work;
  const runEndRetries = createRunEndRetries(core);
  const dispatcher = options.isReadOnly ? undefined : startDispatcher(deliveryContext(all));
  const calling = new AbortController();
  const renewals = startRenewals(all, calling.signal);
  const quietCalls = endQuietCalls(all, core.stopping);
  return {
    ...work,
    runEndRetries,
    dispatcher,
    async drainDeliveries() {
      await monitor.idle();
      await dispatcher?.drain({ graceMs: DELIVERY_GRACE_MS });
    },
    /** Resolves when runs and calls have ended and what they fired was attempted; see `Core.close()`. */
    async close(graceMs: number | undefined): Promise<void> {
      await endCalls(all, graceMs);
      calling.abort();
      await Promise.all([renewals, quietCalls]);
      await runEndRetries.stop();
      await work.rollUps.ended();
      await work.gate.close();
      await monitor.stop();
      await dispatcher?.stop({ graceMs: Math.min(DELIVERY_GRACE_MS, graceMs ?? Infinity) });
      await work.channels.close();
    },
  };
}

/** Renews the reservations of long calls until `signal` aborts, which is after the last call. */
async function startRenewals(
  { gate, clock, log }: Pick<CoreParts & WorkParts, "gate" | "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(RENEW_MS, signal);
    if (signal.aborted) return;
    try {
      await gate.renew();
    } catch (error) {
      log.warn("The reservations of calls in progress could not be renewed", { reason: messageOf(error) });
    }
  }
}

/** Resolves once no run and no call of the gateway is in progress. With `graceMs`, those that take longer are cancelled. */
export async function endCalls(
  { liveRuns, gateway, clock }: Pick<CoreParts & WorkParts, "liveRuns" | "gateway" | "clock">,
  graceMs: number | undefined,
): Promise<void> {
  await endLiveRuns({ liveRuns: new Map([...liveRuns, ...gateway.calls]), clock }, graceMs);
}

/** Returns the context of deliveries, which are notifications of alerts and of anomalies. */
export function deliveryContext(core: CoreParts & WorkParts): DispatchContext {
  return {
    ...core,
    readNotification: async (subjectId, event) =>
      await readDigestNotification(core, subjectId) ?? await readAlertNotification(core, subjectId, event) ??
        await readAnomalyNotification(core, subjectId),
  };
}
