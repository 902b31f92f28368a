import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Config } from "../config/mod.ts";
import { messageOf, PurserError } from "../kernel/errors.ts";
import { createLazyApp, pathOf, problemResponse, toProblem, withAccessCheck } from "../http/mod.ts";
import { createIds } from "../kernel/ids.ts";
import { createJsonLog, neverThrowing } from "../kernel/log.ts";
import { openRequestCore, type RequestCore } from "../service/mod.ts";
import { createIsolate, type Isolate } from "./isolate.ts";
import { checkEdgeConfig, type EdgeBindings, environmentOf, loadEdgeConfig } from "./settings.ts";

/** What a runtime hands in to keep work alive that goes on after the answer. */
export interface EdgeContext {
  waitUntil(work: Promise<unknown>): void;
}

/** How an edge is made. */
export interface EdgeOptions {
  /** Writes a line of the log. */
  write: (line: string) => void;
  /** The settings, where they are not the environment's. */
  config?: Config;
  clock?: Clock;
  fetch?: typeof globalThis.fetch;
}

/** The API as functions of a request and of a time, with nothing between two calls. */
export interface EdgeHandler {
  fetch(request: Request, bindings: EdgeBindings, context: EdgeContext): Promise<Response>;
  /** Delivers what is due, and ends the runs of instances that died. Rejects when it could not. */
  scheduled(bindings: EdgeBindings): Promise<void>;
}

/** A request looks for what others have left behind where that was not done for so long. */
const LOOK_MS = 30_000;

/** What a request may deliver after its answer: platforms end what takes longer than 30 s. */
const AFTER_REQUEST = { timeoutMs: 10_000, attemptsPerChannel: 20 };

/** What one call of the scheduled handler may deliver: it comes again a minute later. */
const SCHEDULED = { timeoutMs: 45_000, attemptsPerChannel: 200 };

/**
 * Makes the handlers of an edge. Each request has a core of its own, since requests may share no connections; what goes
 * on after the answer, a run whose client has gone or a delivery, is handed to `waitUntil`. Every request needs an API
 * key, for there is no telling who is on the same machine.
 */
export function createEdgeHandler(options: EdgeOptions): EdgeHandler {
  const { clock = systemClock, write } = options;
  let current: { settings: string; isolate: Isolate } | undefined;

  async function isolateOf(bindings: EdgeBindings): Promise<Isolate> {
    const env = environmentOf(bindings);
    // The same values, whether or not in the same object.
    const settings = JSON.stringify(env);
    if (current?.settings === settings) return current.isolate;
    if (options.config) checkEdgeConfig(options.config);
    const config = options.config ?? await loadEdgeConfig(env);
    current = { settings, isolate: createIsolate({ config, env, write }) };
    return current.isolate;
  }

  const open = ({ config, env, log, runtime }: Isolate): Promise<RequestCore> =>
    openRequestCore({ config, env, log, runtime, clock, fetch: options.fetch });

  /** What no request of this deployment gets past, until somebody mends it. */
  function refuse(error: unknown, request: Request): Response {
    const isForCaller = error instanceof PurserError &&
      (error.code === "unsupported" || error.code === "unavailable");
    const log = neverThrowing(createJsonLog({ level: "error", write }));
    // Wrong settings are not the caller's fault, whatever their code says: the log has the reason.
    const told = isForCaller ? error : new Error(messageOf(error));
    return problemResponse(
      toProblem(told, pathOf(request.url), log, createIds(clock).next("req")),
    );
  }

  /** What goes on after an answer. Never rejects. */
  async function finish(isolate: Isolate, core: RequestCore, answer: Promise<Response>): Promise<void> {
    try {
      await answer.catch(() => {});
      await core.settle();
      const shouldLook = clock.now() - isolate.lookedAt >= LOOK_MS;
      if (shouldLook) isolate.lookedAt = clock.now();
      if (shouldLook || core.hasFired) await core.deliverDue(AFTER_REQUEST);
      if (shouldLook) await core.recover();
      await core.close();
    } catch (error) {
      isolate.log.warn("What follows a request could not be done", { reason: messageOf(error) });
    }
  }

  return {
    async fetch(request, bindings, context) {
      let isolate: Isolate;
      let core: RequestCore;
      try {
        isolate = await isolateOf(bindings);
        core = await open(isolate);
      } catch (error) {
        return refuse(error, request);
      }
      const door = withAccessCheck(core, createLazyApp(core));
      const answer = (async () => await door(request))();
      // At once: a client that goes away would end the request, and with it a run.
      context.waitUntil(finish(isolate, core, answer));
      return await answer;
    },
    async scheduled(bindings) {
      const isolate = await isolateOf(bindings);
      const core = await open(isolate);
      isolate.lookedAt = clock.now();
      const [recovered] = await Promise.allSettled([core.recover(), core.deliverDue(SCHEDULED)]);
      await core.close();
      if (recovered.status === "rejected") throw recovered.reason;
    },
  };
}
