import type { Sighting } from "../../calls/mod.ts";
import type { Usage } from "../../pricing/mod.ts";
import { RecentMap } from "../../kernel/recent_map.ts";
import type { CallRecord } from "./read_records.ts";
import type { SpanRecord } from "./records.ts";

/*
 * The spans that were received of late, without their attributes: which of them are agents and calls, and how they lie within each
 * other. Children come before their parents, and often in an earlier request.
 */

/** The facts that a span says of itself. */
export interface SpanFacts {
  isCall?: boolean;
  isAgent?: boolean;
  agent?: string;
  session?: string;
  /** The tokens of a call. */
  told?: ToldCall;
}

/** A call with tokens, as others need to know it that may be the same. */
export interface ToldCall {
  key: string;
  scope: string;
  usage: Usage;
  inputTokens: number;
  outputTokens: number;
  startsAt: number;
  endsAt: number;
  responseId?: string;
  /** The process, as far as its resource names it. */
  process?: readonly unknown[];
  /** The ids that it was said under. */
  saidAs?: Pick<Sighting, "responseId" | "fingerprint">;
  /** The records that are this call, once it is said: one object of all of them. */
  tellers?: ToldCall[];
}

/** A call without its place, which may become known later. */
export interface Unplaced {
  call: CallRecord;
  /** `""` for one that tells its place itself. */
  traceId: string;
  /** The span that it lies in. */
  spanId: string;
  own: { agent?: string; session?: string };
  /** Its place as it was said last. */
  said?: string;
}

/** The agents around a record, the innermost first, and its session. */
export interface Place {
  agents: string[];
  session?: string;
  /** The number of the spans around it that are known; undefined if all are. */
  known?: number;
  /** The innermost span around it that has not come. */
  missing?: SpanNode;
}

/** A span; of one that has not come only what the spans within it say. */
export class SpanNode {
  isReceived = false;
  parent = "";
  facts: SpanFacts = {};
  /** True if a call lies within it. */
  hasCall = false;
  /** The calls directly within it: those of a call, or of a span that may be one. */
  inner: ToldCall[] = [];
  /** The calls that an agent's sum holds. */
  leaves: ToldCall[] = [];
  /** Calls that wait for it, to know their agent. */
  waiting: Unplaced[] = [];
  /** The sum of an agent, where it is booked. */
  sum?: Unplaced & { whole: Usage };
}

/** The most spans and waiting calls that are kept: those of the oldest traces are forgotten first, many at once. */
const MAX_KEPT = 50_000;
const KEPT_THEN = 45_000;
/** The most calls that are kept of one span, and the most spans around one. */
const MAX_INNER = 64;
const MAX_DEPTH = 500;
/** The most calls by whose counts the same call of another instrumentation is found, and how far their times may be apart. */
const MAX_RECENT = 10_000;
/** The most calls with equal counts at the same time of which each record finds its own. */
const MAX_TWINS = 16;
const MAX_SKEW_MS = 1_000;

/** Returns whether the resources of two records name different processes. */
const isOtherProcess = ({ process: a = [] }: ToldCall, { process: b = [] }: ToldCall) =>
  a.some((one, index) => one !== undefined && b[index] !== undefined && one !== b[index]);

export class Traces {
  /** The sessions that other sessions have started, each with its parent; the oldest first. */
  readonly #parents = new RecentMap<string>(MAX_RECENT);
  /** The sender of the records that are read: no other one can add to its traces. */
  sender = "";
  readonly #traces = new Map<string, Map<string, SpanNode>>();
  /** The trace that was touched last: most spans come beside others of their trace. */
  #latest: { key: string; trace: Map<string, SpanNode> } | undefined;
  readonly #recent = new RecentMap<ToldCall[]>(MAX_RECENT);
  readonly #named = new RecentMap<{ at: number; refs: Map<string, string> }[]>(MAX_RECENT);
  #kept = 0;

  /** Adds a span, and tells those around it; of one that is sent again the first one counts. */
  add({ traceId, spanId, parentSpanId }: SpanRecord, facts: SpanFacts): SpanNode {
    const trace = this.#touch(traceId);
    const node = this.#nodeOf(trace, spanId);
    if (node.isReceived) return node;
    node.isReceived = true;
    node.parent = parentSpanId === spanId ? "" : parentSpanId;
    node.facts = facts;
    if (node.parent !== "") this.#nodeOf(trace, node.parent);
    this.#raise(trace, node);
    return node;
  }

  /** Returns the nearest span around one that is a call, or an agent. */
  nearest(kind: "isCall" | "isAgent", traceId: string, spanId: string): SpanNode | undefined {
    for (const node of this.#around(traceId, spanId)) if (node.facts[kind]) return node;
    return undefined;
  }

  /**
   * Returns the record of another instrumentation about the same call: some of them write a trace of their own. Keeps the call, for
   * others to find it.
   */
  twin(call: ToldCall, process: string): ToldCall | undefined {
    const key = `${this.sender}:${process}:${call.inputTokens}:${call.outputTokens}`;
    const same = this.#recent.get(key) ?? [];
    // An instrumentation tells a call once: of calls with equal counts at the same time, each has a twin of its own.
    const twin = same.find((one) =>
      one.startsAt <= call.endsAt + MAX_SKEW_MS && call.startsAt <= one.endsAt + MAX_SKEW_MS &&
      one.scope !== call.scope && !one.tellers?.some(({ scope }) => scope === call.scope) &&
      !isOtherProcess(one, call) &&
      (one.responseId === undefined || call.responseId === undefined || one.responseId === call.responseId)
    );
    if (same.push(call) > MAX_TWINS) same.shift();
    this.#recent.set(key, same);
    return twin;
  }

  /**
   * Returns the name of a call whose records share no id but a key: those of the same time have one name, that of the first. Two
   * records of one kind are two calls. Returns undefined for a record that only completes others, before those have come.
   */
  nameOf(
    key: string,
    { kind, ref, at, isSecond = false }: {
      kind: string;
      ref: string;
      at: number;
      isSecond?: boolean | undefined;
    },
  ): string | undefined {
    const name = `${this.sender}:${key}`;
    const all = this.#named.get(name) ?? [];
    const near = all.filter((one) =>
      Math.abs(one.at - at) <= MAX_SKEW_MS && (one.refs.get(kind) ?? ref) === ref
    );
    let one = near.find(({ refs }) => refs.has(kind)) ??
      near.toSorted((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at))[0];
    if (!one && isSecond) return undefined;
    this.#named.set(name, one ? all : [...all.slice(1 - MAX_TWINS), one = { at, refs: new Map() }]);
    one.refs.set(kind, ref);
    return `${key}:${one.at}`;
  }

  /** Notes that a session has started another one. */
  spawn(child: string, parent: string): void {
    this.#parents.set(this.sender + child, parent);
  }

  /** Returns the session of a session that another one has started, and its own as a sub-agent; undefined for any other. */
  rootOf(session: string): { session: string; subagent: { id: string; parent?: string } } | undefined {
    const parent = this.#parents.get(this.sender + session);
    if (parent === undefined) return undefined;
    let root = parent;
    for (
      let next, depth = 0;
      (next = this.#parents.get(this.sender + root)) !== undefined && depth < MAX_DEPTH;
      depth++
    ) {
      root = next;
    }
    return { session: root, subagent: { id: session, ...(parent !== root && { parent }) } };
  }

  /** Keeps a call until a span comes. */
  wait(node: SpanNode, unplaced: Unplaced): void {
    node.waiting.push(unplaced);
    this.#grow(this.#touch(unplaced.traceId));
  }

  /** Returns the calls that have waited for a span. */
  release(node: SpanNode): Unplaced[] {
    this.#kept -= node.waiting.length;
    return node.waiting.splice(0);
  }

  /** Returns the place of a record within some span; `""` for none. */
  placeIn(traceId: string, spanId: string, own: Pick<SpanFacts, "agent" | "session">): Place {
    const place: Place = { agents: own.agent === undefined ? [] : [own.agent], session: own.session };
    if (traceId !== "" && spanId !== "") this.#nodeOf(this.#touch(traceId), spanId);
    let known = 0;
    for (const node of this.#around(traceId, spanId)) {
      const { isReceived, facts } = node;
      if (!isReceived) return { ...place, known, missing: node };
      known++;
      place.session ??= facts.session;
      if (facts.isAgent && facts.agent !== undefined && facts.agent !== place.agents.at(-1)) {
        place.agents.push(facts.agent);
      }
    }
    return place;
  }

  /** The spans from one on outwards, to the first that has not come. */
  *#around(traceId: string, spanId: string): Generator<SpanNode> {
    const trace = this.#traces.get(this.sender + traceId);
    for (let id = spanId, depth = 0; id !== "" && depth < MAX_DEPTH; depth++) {
      const node = trace?.get(id);
      if (!node) return;
      yield node;
      if (!node.isReceived) return;
      id = node.parent;
    }
  }

  /** Tells the spans around a new one what lies within it. */
  #raise(trace: Map<string, SpanNode>, node: SpanNode): void {
    const { facts } = node;
    let inner = facts.told ? [facts.told] : facts.isCall || facts.isAgent ? [] : node.inner;
    let leaves = facts.isAgent ? [] : facts.told ? [facts.told, ...node.leaves] : node.leaves;
    const hasCall = facts.isCall === true || node.hasCall;
    if (!facts.isCall) node.inner = [];
    if (!facts.isAgent) node.leaves = [];
    for (let id = node.parent, depth = 0; id !== "" && depth < MAX_DEPTH; depth++) {
      const around = trace.get(id);
      if (!around) return;
      if (around.hasCall === hasCall && inner.length === 0 && leaves.length === 0) return;
      around.hasCall ||= hasCall;
      if (around.facts.isCall || !around.isReceived) {
        if (around.inner.length < MAX_INNER) around.inner.push(...inner);
        if (around.isReceived) inner = [];
      }
      if (around.facts.isAgent || !around.isReceived) {
        for (const one of leaves) around.leaves.push(one);
        if (around.isReceived) inner = leaves = [];
      }
      if (!around.isReceived) return;
      id = around.parent;
    }
  }

  #touch(traceId: string): Map<string, SpanNode> {
    const key = this.sender + traceId;
    if (this.#latest?.key === key) return this.#latest.trace;
    const trace = this.#traces.get(key) ?? new Map<string, SpanNode>();
    this.#traces.delete(key);
    this.#traces.set(key, trace);
    this.#latest = { key, trace };
    return trace;
  }

  #nodeOf(trace: Map<string, SpanNode>, spanId: string): SpanNode {
    let node = trace.get(spanId);
    if (node) return node;
    trace.set(spanId, node = new SpanNode());
    this.#grow(trace);
    return node;
  }

  #grow(current: Map<string, SpanNode>): void {
    if (++this.#kept <= MAX_KEPT) return;
    for (const [id, trace] of this.#traces) {
      if (trace === current) break;
      this.#traces.delete(id);
      for (const node of trace.values()) this.#kept -= 1 + node.waiting.length;
      if (this.#kept <= KEPT_THEN) return;
    }
    if (this.#kept <= MAX_KEPT) return;
    // One trace without end.
    for (const [spanId, node] of current) {
      current.delete(spanId);
      this.#kept -= 1 + node.waiting.length;
      if (this.#kept <= KEPT_THEN) return;
    }
  }
}
