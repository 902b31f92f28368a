/** The gateway: passes the calls of any client on to the model providers, under the ledger and the budgets of Purser. */
import { PurserError } from "../kernel/errors.ts";
import { RecentMap } from "../kernel/recent_map.ts";
import { withoutRedirects } from "../kernel/single_send.ts";
import type { Environment } from "../config/mod.ts";
import type { GatewayState } from "./context.ts";
import { createPooledSend, hasProxy } from "./pooled_send.ts";
import type { ProviderAnswer } from "./provider_answer.ts";

export { type Caller, readAttribution } from "./attribution.ts";
export type { GatewayState } from "./context.ts";
export { endQuietCalls } from "./live_calls.ts";
export { authorizationOf } from "./headers.ts";
export { listModels } from "./list_models.ts";
export { passRequest } from "./pass_request.ts";
export { findTarget, isConnectionProbe } from "./targets.ts";
export { wireError } from "./wire_errors.ts";

/** The sessions, and the callers, whose last call is remembered. */
const MAX_REMEMBERED = 10_000;

/** Creates the state of a process's gateway. */
export function createGatewayState(
  { env, fetch, calls }: {
    env: Environment;
    fetch?: typeof globalThis.fetch;
    calls: GatewayState["calls"];
  },
): GatewayState {
  const pooled = fetch ? undefined : createPooledSend({ hasProxy: hasProxy(env) });
  return {
    calls,
    times: new Map(),
    lastCosts: new RecentMap(MAX_REMEMBERED),
    plans: new Map(),
    hiddenSecrets: new Map(),
    upstreams: new Map(),
    send: withoutRedirects<string, ProviderAnswer>(
      fetch ?? pooled!,
      (reason) =>
        new PurserError(
          "provider_error",
          `Cannot get an answer from the provider: ${reason}; set its base URL to the address that answers`,
        ),
    ),
    ready: () => pooled?.ready(),
  };
}
