import type { Core } from "../../service/mod.ts";
import { PurserError } from "../../kernel/errors.ts";
import { authenticate, isAuthRequired, type Principal } from "../../keys/mod.ts";
import type { Answering } from "../lazy_app.ts";
import { isLoopback, loopbackGuard } from "./guard.ts";
import type { Handler } from "../server/listen.ts";
import { NOBODY } from "./principal.ts";
import { pathOf, problemResponse, toProblem } from "./problem.ts";
import { isOpenRoute } from "../route_permissions.ts";

/**
 * The app as the outside reaches it: who comes in is decided here, in front of every route. As soon as the database
 * has ever had a key, every request needs one, from this machine too, since a proxy in front would make all requests
 * come from there. Before, this machine alone is answered; whoever can't be told to be this machine is not.
 */
export function createDoor(core: Core, app: Answering): Handler {
  return async (request, from) => {
    core.telemetry.trackRequest(request);
    try {
      checkAddress(request);
      const principal = await admit(core, request, from);
      return await app.fetch(request, principal ? { principal } : { isKeyless: true });
    } catch (error) {
      return refuse(core, request, error);
    }
  };
}

/** Who a request comes from; undefined for this machine, while there are no keys. */
async function admit(core: Core, request: Request, from: string | undefined): Promise<Principal | undefined> {
  const authorization = request.headers.get("authorization");
  if (isOpenRoute(request)) {
    // Before the database is asked: whether the process is alive can be told without it.
    if (refusalOf(request, from) === undefined || await isAuthRequired(core)) return NOBODY;
  } else if (await isAuthRequired(core, { isKeyPresented: authorization !== null })) {
    return await authenticate(core, authorization);
  }
  const refusal = refusalOf(request, from);
  if (refusal) throw refusal;
}

/** Why a request is not one of this machine's people and programs. */
function refusalOf(request: Request, from: string | undefined): unknown {
  try {
    if (from === undefined || !isLoopback(from.replace(/^::ffff:/i, ""))) {
      throw new PurserError(
        "forbidden",
        "Cannot answer another machine: there is no API key yet; make one with purser keys create NAME --scope admin",
      );
    }
    if (request.headers.has("forwarded") || request.headers.has("x-forwarded-for")) {
      throw new PurserError(
        "forbidden",
        "Cannot answer through a proxy, which may pass on anybody's requests: there is no API key yet; make one " +
          "with purser keys create NAME --scope admin",
      );
    }
    loopbackGuard(request);
  } catch (error) {
    return error;
  }
}

/** A server takes any text for a host, and makes an address of it that nothing can read. */
function checkAddress({ url }: Request): void {
  if (URL.canParse(url)) return;
  throw new PurserError("invalid", "Cannot read the request: its Host header names no host");
}

function refuse({ log, ids }: Pick<Core, "log" | "ids">, { url }: Request, error: unknown): Response {
  return problemResponse(toProblem(error, pathOf(url), log, ids.next("req")));
}
