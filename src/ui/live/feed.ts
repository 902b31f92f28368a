import { after, now } from "../hooks/clock.ts";
import { request, RequestError, send } from "../hooks/request.ts";
import type { LiveDelta, LiveModel, LiveState } from "./types.ts";

/** `stale`: nothing has arrived for longer than the server would be silent, or it can't be reached. */
export type LiveStatus = "connecting" | "live" | "polling" | "stale" | "paused";

/** The newest state of the server, and how fresh it is. */
export interface Live {
  readonly state: LiveState | undefined;
  readonly status: LiveStatus;
  /** The reason that nothing arrives. */
  readonly error: { message: string } | undefined;
  /** The time of the last message. */
  readonly at: number | undefined;
}

export const NOT_CONNECTED: Live = {
  state: undefined,
  status: "connecting",
  error: undefined,
  at: undefined,
};

type Shared = { is: "hello" } | ({ is: "live" } & Live);

const PATH = "/live";
/** The name of the lock and the channel of a key's pages. */
const NAME = "purser-live";
/** The server writes a comment every 15 s. */
const SILENT_MS = 40_000;
const SILENT = { message: "The server sends nothing." };
const BROKEN = { status: undefined, message: "The connection to the server breaks." };
const POLL_MS = 5_000;
const SHORT_MS = 10_000;
const MAX_WAIT_MS = 10_000;

/**
 * Follows `GET /live` while the page is visible. All pages of a browser with the same key share one stream: the one with the
 * lock reads it and passes it on. After two streams that ended within 10 s it polls instead, as platforms end streams with their request.
 */
export class LiveFeed {
  #live = NOT_CONNECTED;
  #controller: AbortController | undefined;
  #isReader = false;
  #isPaused = false;
  #ends: number[] = [];
  #cancelSilence = () => {};
  #channel: BroadcastChannel | undefined;

  readonly #name: string;

  constructor(keyId: string | null, private readonly onChange: (live: Live) => void) {
    this.#name = `${NAME} ${keyId ?? ""}`;
  }

  /** Follows until `stop()`. */
  start(): void {
    document.addEventListener("visibilitychange", this.#check);
    this.#check();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#check);
    this.#disconnect();
  }

  /** Stops to follow, or follows again. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#check();
    if (isPaused) this.#set({ status: "paused", error: undefined });
  }

  /** Connects anew. */
  reload(): void {
    this.#disconnect();
    this.#check();
  }

  #check = () => {
    const isWanted = document.visibilityState === "visible" && !this.#isPaused;
    if (isWanted && !this.#controller) this.#connect();
    else if (!isWanted) this.#disconnect();
  };

  #connect(): void {
    const { signal } = this.#controller = new AbortController();
    this.#set({ status: "connecting", error: undefined });
    this.#watchSilence();
    if (!navigator.locks) return void this.#read(signal);
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }: MessageEvent<Shared>) => {
      if (data.is === "hello") {
        if (this.#isReader) this.#share();
      } else if (!this.#isReader) {
        const { is: _, ...live } = data;
        this.#watchSilence();
        this.#set(live);
      }
    };
    this.#channel.postMessage({ is: "hello" } satisfies Shared);
    navigator.locks.request(this.#name, { signal }, async () => {
      this.#isReader = true;
      await this.#read(signal).finally(() => this.#isReader = false);
    }).catch(() => {}); // the lock was not needed any more
  }

  #disconnect(): void {
    this.#controller?.abort();
    this.#controller = undefined;
    this.#channel?.close();
    this.#channel = undefined;
    this.#cancelSilence();
  }

  async #read(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      const startedAt = now();
      let isReached = true;
      try {
        if (this.#isCutShort()) await this.#poll(signal);
        else await this.#stream(signal);
        failures = 0;
      } catch (error) {
        const { status, message } = error instanceof RequestError ? error : BROKEN;
        if (signal.aborted || status === 401) return;
        isReached = status !== 0;
        // A stream that broke may have been cut on its way; a second failure means that the server can't be reached.
        if (++failures > 1 || status === 403) this.#set({ status: "stale", error: { message } });
        if (status === 403) return; // a key keeps its scopes
      }
      // A server that can't be reached has ended no stream: when it is there again, it gets one.
      if (now() - startedAt >= SHORT_MS) this.#ends = [];
      else if (isReached) this.#ends = [...this.#ends, now()].slice(-2);
      const wait = this.#isCutShort() && failures === 0
        ? POLL_MS
        : Math.min(MAX_WAIT_MS, 1_000 * 2 ** failures);
      await new Promise<void>((resolve) => {
        const cancel = after(wait, resolve);
        signal.addEventListener("abort", () => (cancel(), resolve()), { once: true });
      });
    }
  }

  #isCutShort(): boolean {
    return this.#ends.length === 2;
  }

  async #stream(signal: AbortSignal): Promise<void> {
    await readStream(PATH, signal, (message) => {
      if (message === "comment") return this.#hear("live");
      const data = JSON.parse(message.data);
      const { state } = this.#live;
      if (message.event === "state") this.#hear("live", data);
      else if (message.event === "delta" && state) this.#hear("live", mergeLive(state, data));
    });
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { value } = await request<LiveState>(`${PATH}?once=true`, { signal });
    this.#hear("polling", value);
  }

  #hear(status: LiveStatus, state = this.#live.state): void {
    this.#watchSilence();
    this.#set({ state, status, error: undefined, at: now() });
  }

  #watchSilence(): void {
    this.#cancelSilence();
    this.#cancelSilence = after(SILENT_MS, () => this.#set({ status: "stale", error: SILENT }));
  }

  #set(change: Partial<Live>): void {
    this.#live = { ...this.#live, ...change };
    this.onChange(this.#live);
    if (this.#isReader) this.#share();
  }

  #share(): void {
    if (this.#live.status !== "paused") {
      this.#channel?.postMessage({ is: "live", ...this.#live } satisfies Shared);
    }
  }
}

const modelOf = ({ provider, model }: LiveModel) => `${provider}:${model}`;
const byCost = (a: { cost_usd: number | null }, b: { cost_usd: number | null }) =>
  (b.cost_usd ?? -1) - (a.cost_usd ?? -1);
const newest = (a: string, b: string) => (a < b ? 1 : a > b ? -1 : 0);

/** The most entries that are kept of what only ever grows. */
const MAX_KEPT = 20;

/** Returns the state after a change: entries replace those of the same id. */
export function mergeLive(state: LiveState, { gone = {}, ...delta }: LiveDelta): LiveState {
  return {
    ...state,
    ...delta,
    agents: merge(state.agents, delta.agents, (agent) => agent.agent_id, gone.agents).sort(byCost),
    models: merge(state.models, delta.models, modelOf, gone.models).sort(byCost),
    runs: merge(state.runs, delta.runs, (run) => run.run_id, gone.runs)
      .sort((a, b) => newest(a.started_at, b.started_at)),
    alerts: merge(state.alerts, delta.alerts, (alert) => alert.alert_id)
      .sort((a, b) => newest(a.triggered_at, b.triggered_at)).slice(0, MAX_KEPT),
    refusals: merge(state.refusals, delta.refusals, (refusal) => String(refusal.event_id))
      .sort((a, b) => b.event_id - a.event_id).slice(0, MAX_KEPT),
    budgets: merge(state.budgets, delta.budgets, (budget) => budget.budget_id, gone.budgets),
    rules: merge(state.rules, delta.rules, (rule) => rule.rule_id, gone.rules),
    anomalies: merge(state.anomalies, delta.anomalies, (anomaly) => anomaly.anomaly_id)
      .sort((a, b) => newest(a.detected_at, b.detected_at)).slice(0, MAX_KEPT),
  };
}

/** Returns all entries once, in their order, the changed ones in their place. */
function merge<Entry>(
  entries: readonly Entry[],
  changed: readonly Entry[] = [],
  idOf: (entry: Entry) => string,
  gone: readonly string[] = [],
): Entry[] {
  const merged = new Map(entries.map((entry) => [idOf(entry), entry]));
  for (const entry of changed) merged.set(idOf(entry), entry);
  for (const id of gone) merged.delete(id);
  return [...merged.values()];
}

/** A message of the stream: its event, and its data as JSON. */
interface Message {
  event: string | undefined;
  data: string;
}

/**
 * Reads the stream until it ends. `EventSource` could not send the header of the dashboard. The server writes each event as a few
 * lines `field: value` and an empty one, which needs no parser of all that such streams may have.
 */
async function readStream(
  path: string,
  signal: AbortSignal,
  onMessage: (message: Message | "comment") => void,
): Promise<void> {
  const response = await send(path, { signal, headers: { accept: "text/event-stream" } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const fieldOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const data = fieldOf("data");
      // A comment only shows that the connection lives.
      onMessage(data === undefined ? "comment" : { event: fieldOf("event"), data });
    }
  }
}
