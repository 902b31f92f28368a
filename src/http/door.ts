import type { Core } from "../core.ts";
import { PurserError } from "../errors.ts";
import type { App } from "./app.ts";
import { type Guard, isLoopback, loopbackGuard } from "./guard.ts";
import type { Handler } from "./listen.ts";
import { problemResponse, toProblem } from "./problem.ts";

/**
 * The app as the outside reaches it: who may come in is decided here, in front of every route. Without keys only this
 * machine is answered; whoever can't be told to be this machine is not.
 */
export function createDoor(core: Core, app: App): Handler {
  return behindGuard(core, (request, from) => {
    if (from === undefined || !isLoopback(from.replace(/^::ffff:/i, ""))) {
      throw new PurserError("forbidden", "Cannot answer another machine: this server has no API keys");
    }
    loopbackGuard(request);
  }, (request) => app.fetch(request));
}

/** A handler that nobody reaches whom the guard refuses. */
export function behindGuard(
  core: Pick<Core, "log" | "ids" | "telemetry">,
  guard: Guard,
  handle: Handler,
): Handler {
  return (request, from) => {
    core.telemetry.heedRequest(request);
    try {
      guard(request, from);
    } catch (error) {
      return problemResponse(toProblem(error, new URL(request.url).pathname, core.log, core.ids.next("req")));
    }
    return handle(request, from);
  };
}
