import type { Context } from "hono";
import { MAX_GATEWAY_BODY_BYTES } from "../../contract/limits.ts";
import { type Caller, findTarget, passRequest, readAttribution } from "../../gateway/mod.ts";
import { toStream } from "../../kernel/byte_reader.ts";
import { PurserError } from "../../kernel/errors.ts";
import type { Core } from "../../service/mod.ts";
import { viewerOfRequest } from "../middleware/agent_reach.ts";
import type { Permission } from "../middleware/permission.ts";
import { type ApiEnv, leaseOf, principalOf } from "../middleware/principal.ts";
import { GATEWAY_BODY_TIMES } from "../middleware/body_chunks.ts";
import { readBody } from "../middleware/request_body.ts";
import { withBody } from "../middleware/served_body.ts";
import { isApiPath } from "../resources.ts";
import { createRouter, type Router } from "../router.ts";

/*
 * The gateway's paths are those of the providers, so they are no part of the OpenAPI document: docs/gateway.md lists them.
 */

/** The patterns of its paths: with the provider in front, and bare. */
const PATHS = ["v1", "v1beta", "v1alpha"].flatMap((version) => [`/${version}/*`, `/:provider/${version}/*`]);

/** A key needs the scope `call`; one of an agent is restricted to it by the names of its calls. */
export const permissions: ReadonlyMap<string, Permission> = new Map(
  PATHS.map((path) => [`ALL ${path}`, { scopes: ["call"], agentCheck: "handler" }]),
);

export function createRoutes(): Router {
  return createRouter();
}

/** Its bodies have a limit of their own, and pass on as the bytes that they are. */
export function createStreamedRoutes(core: Core): Router {
  const router = createRouter();
  for (const path of PATHS) {
    // An agent may have the name v1: `/agents/v1/runs` is no path of the gateway.
    router.all(path, (c, next) => isApiPath(c.req.path) ? next() : pass(c, core, path));
  }
  return router;
}

async function pass(c: Context<ApiEnv>, core: Core, path: string): Promise<Response> {
  const { raw } = c.req;
  const { pathname, search } = c.env?.address ?? new URL(raw.url);
  const { providers } = core.providerSources;
  const { logged, server } = c.env ?? {};
  const sent = server?.headers ?? raw.headers;
  const target = findTarget({ pathname, headers: sent }, (name) => Object.hasOwn(providers, name));
  if (!target) throw noProvider(c.req.param("provider"), Object.keys(providers));
  if (logged) logged.route = path.replace(":provider", "{provider}").replace("*", "{path}");
  const lease = leaseOf(c);
  lease?.begin("calls");
  lease?.answer?.check();
  const caller = callerOf(c);
  logged?.note({ provider: target.provider });
  const attribution = readAttribution(sent, caller);
  logged?.note({ agent_id: attribution.agentId, session_id: attribution.sessionId });
  const answer = await passRequest(await core.whole(), {
    method: raw.method,
    target,
    search,
    headers: sent,
    caller,
    attribution,
    note: (facts) => logged?.note(facts),
    onBodySent: () => lease?.endBody(),
    memory: lease?.answer,
    async body() {
      const bytes = await readBody(c, core, MAX_GATEWAY_BODY_BYTES);
      lease?.countBody(GATEWAY_BODY_TIMES);
      return bytes;
    },
    get signal() {
      return raw.signal;
    },
  });
  const { status, headers, body, ended } = answer;
  if (lease && ended) void ended.then(lease.keep());
  if (logged && ended) {
    const close = logged.open();
    void ended.then(() => close(undefined));
  }
  c.set("isOfProvider", true);
  // Some statuses, such as 204, take not even an empty body.
  if (body === null || (body instanceof Uint8Array && body.length === 0)) {
    return new Response(null, { status, headers });
  }
  // The server of this process reads `body` itself.
  const web = server ? null : body instanceof Uint8Array ? body : toStream(body);
  return withBody(new Response(web, { status, headers }), body);
}

function callerOf(c: Pick<Context<ApiEnv>, "env">): Caller {
  const { name = null, models = null, stopsBeforeCredits = false, tags } = principalOf(c) ?? {};
  return { viewer: viewerOfRequest(c), name, models, stopsBeforeCredits, ...tags && { tags } };
}

function noProvider(name: string | undefined, configured: readonly string[]): PurserError {
  const known = ["openai", "anthropic", "gemini", ...configured].join(", ");
  return new PurserError(
    "not_found",
    `Cannot pass the request on: there is no provider ${name}; known are ${known}`,
  );
}
