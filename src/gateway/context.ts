import type { CallContext } from "../calls/mod.ts";
import type { ProviderSources } from "../config/mod.ts";
import type { Clock } from "../kernel/clock.ts";
import type { HeaderFields } from "../kernel/header_fields.ts";
import type { RecentMap } from "../kernel/recent_map.ts";
import type { MemoryShare, Turns } from "../kernel/turns.ts";
import type { Attribution, Caller } from "./attribution.ts";
import type { CallFacts } from "./call_facts.ts";
import type { SeenPlan } from "./plan_meter.ts";
import type { HiddenSecrets } from "./hidden_secrets.ts";
import type { CallTimes, LiveCall } from "./live_calls.ts";
import type { Send } from "./pooled_send.ts";
import type { Target } from "./targets.ts";
import type { Upstream } from "./upstreams.ts";

/** The state of the gateway of a process. */
export interface GatewayState {
  /** The calls that are with a provider, by id. */
  calls: Map<string, LiveCall>;
  /** The durations of calls, by the names of their providers. */
  times: Map<string, CallTimes>;
  /** The cost of the last call of each session: its next one is estimated no lower. */
  lastCosts: RecentMap<bigint>;
  /** The plan windows in the answers of providers, by the names of the providers. */
  plans: Map<string, SeenPlan>;
  /** The search for credentials in the answers of providers, by their names. */
  hiddenSecrets: Map<string, HiddenSecrets>;
  /** The providers with their base URLs, by family, version and name. */
  upstreams: Map<string, Upstream>;
  /** Sends a request to a provider, once, and follows no redirect. */
  send: Send;
  /** Resolves once `send()` needs to load nothing more, and so sends in the turn of the event loop in which it is called. */
  ready(): Promise<unknown> | undefined;
}

/** The parts of a process that the gateway uses. */
export interface GatewayContext extends CallContext {
  clock: Clock;
  providerSources: ProviderSources;
  gateway: GatewayState;
  /** Divides the event loop among long work, such as reading a large body. */
  turns: Turns;
}

/** A request to a provider. */
export interface GatewayRequest {
  method: string;
  target: Target;
  /** The query, with its `?`; empty without one. */
  search: string;
  headers: HeaderFields;
  caller: Caller;
  attribution: Attribution;
  /** Reads the body. */
  body(): Promise<Uint8Array<ArrayBuffer>>;
  /** Adds facts to the line that the log has of the request. */
  note?(facts: CallFacts): void;
  /** Called once its body is not in memory any more, while its answer may take minutes. */
  onBodySent?(): void;
  /** The memory of the answer. */
  memory?: MemoryShare | undefined;
  /** Aborts when the client leaves before it was answered. */
  readonly signal?: AbortSignal | undefined;
}
