import type { Sighting } from "../../calls/mod.ts";
import { hasQuantity, type Usage } from "../../pricing/mod.ts";
import {
  faultOf,
  hasFailed,
  type Item,
  itemOf,
  keyOf,
  minus,
  placed,
  responseIdOf,
  sessionOf,
  sightingOf,
} from "./call_records.ts";
import type { SpanRecord, TelemetryRecord } from "./records.ts";
import { type SpanFacts, type SpanNode, type ToldCall, Traces, type Unplaced } from "./traces.ts";

/** Who has seen a call: the exporter, and the agent that the call is attributed to. */
export interface RecordOrigin {
  /** The exporter: refs are unique within it. */
  name: string;
  agentId: string;
  machine?: string;
}

/** A record that isn't booked, and why. */
export interface RecordFault {
  /** Its index among the records of the request. */
  index: number;
  reason: string;
  origin: RecordOrigin;
  /** The instrumentation. */
  scope: string;
}

/** A record that says of itself that it is a model call; or a call of an earlier request whose agent is known only now. */
export interface CallRecord {
  index: number;
  sighting: Sighting;
  origin: RecordOrigin;
}

/** The content of the records of a request. */
export interface ReadRecords {
  calls: CallRecord[];
  /** Records that say "model call" without usage: not booked. */
  unmetered: RecordFault[];
  /** Sums without any call beneath them: not booked. */
  rollups: RecordFault[];
  /** Records that can't be read: their counts, times or ids can't be any. */
  rejected: RecordFault[];
  /** The number of failed calls without usage. */
  failed: number;
  /** The number of all other accepted records. */
  others: number;
  /** Hints for the sender, each once. */
  hints: string[];
}

/** Reads the records of requests, one after the other: spans of a trace may come in several, all of the same sender. */
export interface RecordReader {
  read(records: readonly TelemetryRecord[], sender?: string): ReadRecords;
}

/** The settings of a reader. */
export interface ReaderOptions {
  /** The scopes whose sums without any call beneath them are booked as aggregates. */
  sumsOf?: readonly string[];
}

const IS_SAMPLED = /(?:^|,)ot=(?:[^,]*;)?th:(?!0+(?:[;,]|$))/;

/** Returns a reader that knows no trace yet. */
export function createReader({ sumsOf = [] }: ReaderOptions = {}): RecordReader {
  const traces = new Traces();
  /** Of each sender, the numbers of records without the calls that they speak of; undefined once such calls have come. */
  const silent: Silent = new Map();

  return {
    read(records, sender = "") {
      traces.sender = sender;
      return new Reading(traces, silent, new Set(sumsOf)).read(records);
    },
  };
}

/** By sender and by the name of a dialect, or `""` for agents of any. */
type Silent = Map<string, number | undefined>;

/** So many records without the calls that they speak of are no coincidence of times. */
const MANY = 8;
const MAX_SILENT = 1_000;

/** The reading of one request. */
class Reading {
  readonly #result: ReadRecords = {
    calls: [],
    unmetered: [],
    rollups: [],
    rejected: [],
    failed: 0,
    others: 0,
    hints: [],
  };
  readonly #hints = new Set<string>();
  /** The agents whose sums or calls have come. */
  readonly #sums = new Set<SpanNode>();

  constructor(
    private readonly traces: Traces,
    private readonly silent: Silent,
    private readonly sumsOf: ReadonlySet<string>,
  ) {}

  read(records: readonly TelemetryRecord[]): ReadRecords {
    const result = this.#result;
    // All spans of a request are known before one of them is placed.
    const items: Item[] = [];
    const late: [number, SpanNode][] = [];
    records.forEach((record, index) => {
      const item = itemOf(record, index);
      if (record.signal === "span") {
        const node = this.#addSpan(record, item);
        if (node && node.waiting.length > 0) late.push([index, node]);
        if (item) item.node = node;
      }
      if (item?.rule.is === "spawn") this.#noteSpawn(item);
      if (item && item.rule.is !== "spawn") items.push(item);
      else result.others++;
    });
    for (const [index, node] of late) {
      for (const unplaced of this.traces.release(node)) this.#place(unplaced, index);
    }
    // Another server may have the record that it completes: alone, it would be a call of its own.
    const isLast = ({ rule }: Item) => rule.isSecond === true && rule.joinedBy !== undefined;
    for (const item of items) if (!isLast(item)) this.#tell(item);
    for (const item of items) if (isLast(item)) this.#tell(item);
    for (const { sum, leaves } of this.#sums) this.#tellSum(sum!, leaves);
    if (result.rollups.length > 0) {
      this.#hints.add(
        `${result.rollups.length} agent spans with usage and no model call beneath: is your SDK's model instrumentation on?`,
      );
    }
    result.hints = [...this.#hints];
    return result;
  }

  #addSpan(record: SpanRecord, item: Item | undefined): SpanNode | undefined {
    const { traceId, spanId } = record;
    if (traceId === "" || spanId === "") return undefined;
    if (!item) return this.traces.add(record, { session: sessionOf(record) });
    const { rule, reader, fields, usage } = item;
    const facts: SpanFacts = { session: reader.text(fields.session) ?? sessionOf(record) };
    if (rule.is === "agent") {
      return this.traces.add(record, { ...facts, isAgent: true, agent: reader.text(fields.agent) });
    }
    if (rule.is !== "call") return this.traces.add(record, facts);
    facts.isCall = true;
    if (usage && hasQuantity(usage)) {
      facts.told = {
        key: `${traceId}:${spanId}`,
        scope: record.scope.name,
        usage,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        startsAt: record.startsAt,
        endsAt: record.endsAt,
        responseId: responseIdOf(item),
        process: PROCESS.map((name) => record.resource.get(name)),
      };
    }
    return this.traces.add(record, facts);
  }

  #noteSpawn({ reader, fields: { spawned } }: Item): void {
    const child = reader.text(spawned?.child);
    const parent = reader.text(spawned?.parent);
    if (child !== undefined && parent !== undefined && child !== parent) this.traces.spawn(child, parent);
  }

  #tell(item: Item): void {
    const { record, rule, usage, fault } = item;
    const result = this.#result;
    if (record.signal === "span" && IS_SAMPLED.test(record.traceState)) {
      this.#hints.add("These traces are sampled, and calls are missing: export model calls with always_on");
    }
    if (rule.is === "repeat") return this.#tellRepeat(item);
    if (fault !== undefined) {
      result.rejected.push(leftOut(item, fault));
      return;
    }
    const hasUsage = usage !== undefined && hasQuantity(usage);
    if (rule.is === "agent") return hasUsage ? this.#tellAgent(item, usage) : this.#tellSilentAgent(item);
    if (!hasUsage) return this.#tellWithoutUsage(item);
    const reason = faultOf(record);
    if (reason !== undefined) return void result.rejected.push(leftOut(item, reason));
    this.#break("");
    this.#break(item.dialect.name);
    const unplaced = unplacedOf(item, usage);
    const joined = this.#joined(item, unplaced.call.sighting.ref);
    // The sum of the calls within it, or a record that only completes another one.
    if (joined === undefined) return void result.others++;
    Object.assign(unplaced.call.sighting, joined);
    const root = item.fields.spawned && unplaced.own.session && this.traces.rootOf(unplaced.own.session);
    if (root) {
      Object.assign(unplaced.call.sighting, root);
      unplaced.own.session = root.session;
    }
    this.#place(unplaced);
    if (record.signal !== "span") return;
    const agent = this.traces.nearest("isAgent", record.traceId, record.parentSpanId);
    if (agent?.sum) this.#sums.add(agent);
  }

  #tellRepeat({ dialect }: Item): void {
    this.#result.others++;
    if (dialect.hint !== undefined && this.#isSilent(dialect.name)) this.#hints.add(dialect.hint);
  }

  /** Some instrumentations of agents know nothing of the calls, which that of the SDK has to tell. */
  #tellSilentAgent({ node }: Item): void {
    this.#result.others++;
    if (node && !node.hasCall && this.#isSilent("")) {
      this.#hints.add("Agent spans and no model call: is your SDK's model instrumentation on?");
    }
  }

  /** Counts a record that speaks of calls; returns whether many have come and no call. */
  #isSilent(of: string): boolean {
    const key = `${this.traces.sender}:${of}`;
    const before = this.silent.has(key) ? this.silent.get(key) : 0;
    if (before === undefined) return false;
    this.#keep(key, before + 1);
    return before + 1 > MANY;
  }

  #break(of: string): void {
    this.#keep(`${this.traces.sender}:${of}`, undefined);
  }

  #keep(key: string, count: number | undefined): void {
    this.silent.set(key, count);
    if (this.silent.size > MAX_SILENT) this.silent.delete(this.silent.keys().next().value!);
  }

  #tellWithoutUsage(item: Item): void {
    const { record, rule, node } = item;
    const result = this.#result;
    // Another record says this call: one of its span, or one within it.
    if (rule.isSecond || (node && node.inner.length > 0)) result.others++;
    else if (hasFailed(record)) result.failed++;
    else if (node?.hasCall) result.others++;
    else result.unmetered.push(leftOut(item, "a model call without its token counts"));
  }

  /**
   * Returns the ids under which a call is said, so that it is one with the same call within it, around it or beside it, which another
   * instrumentation tells; undefined for the sum of the calls within it.
   */
  #joined(item: Item, ref: string): ToldCall["saidAs"] {
    const { node, record, origin } = item;
    const told = node?.facts.told;
    if (!told) return this.#named(item, ref);
    if (told.saidAs) return told.saidAs;
    const { traceId, parentSpanId } = record as SpanRecord;
    const isSame = (one: ToldCall | undefined) =>
      one !== undefined && one.inputTokens === told.inputTokens &&
      (one.responseId === undefined || told.responseId === undefined || one.responseId === told.responseId);
    // Of two attempts, it tells the one that has its output.
    const same = node.inner.filter(isSame);
    const within = same.find(({ outputTokens }) => outputTokens === told.outputTokens) ?? same[0];
    if (!within && isSumOf(told, node.inner)) return undefined;
    const around = this.traces.nearest("isCall", traceId, parentSpanId)?.facts.told;
    const isAround = isSame(around) && !around?.tellers?.some((one) => isEarlierOrLater(one, told));
    const beside = this.traces.twin(told, origin.name);
    const other = within ?? (isAround ? around : beside);
    told.tellers = other ? other.tellers ??= [other] : [];
    told.tellers.push(told);
    const own = told.responseId === undefined ? { fingerprint: told.key } : { responseId: told.responseId };
    const others = other?.saidAs ??
      (other?.responseId === undefined ? { fingerprint: other?.key } : { responseId: other.responseId });
    return told.saidAs = { ...own, ...(other && others) };
  }

  #named(item: Item, ref: string): ToldCall["saidAs"] {
    const { record, rule: { isSecond } } = item;
    const key = keyOf(item);
    if (key === undefined || record.signal !== "log") return {};
    const at = Math.floor(record.at);
    const fingerprint = this.traces.nameOf(key, { kind: record.name, ref, at, isSecond });
    return fingerprint === undefined ? undefined : { fingerprint };
  }

  /** Says a call with the place that is known of it, and again when more is known. */
  #place(unplaced: Unplaced, index = unplaced.call.index): void {
    const { call, own, traceId, spanId } = unplaced;
    const { missing, ...place } = this.traces.placeIn(traceId, traceId && spanId, own);
    if (missing) this.traces.wait(missing, unplaced);
    const text = `${place.agents.join("\0")}\0\0${place.session}`;
    if (unplaced.said === text) return;
    unplaced.said = text;
    this.#result.calls.push({ ...placed(call, place), index });
  }

  #tellAgent(item: Item, usage: Usage): void {
    const { node, dialect, record } = item;
    const result = this.#result;
    if (!node || (node.hasCall && !dialect.isIncomplete)) return void result.others++;
    if (!dialect.isIncomplete && !this.sumsOf.has(record.scope.name)) {
      result.rollups.push(leftOut(item, "a sum of model calls, none of which has come"));
      return;
    }
    const reason = faultOf(record);
    if (reason !== undefined) return void result.rejected.push(leftOut(item, reason));
    node.sum = { ...unplacedOf(item, usage), whole: usage };
    this.#sums.add(node);
  }

  /** Says what the sum of an agent has beyond its calls. */
  #tellSum(sum: Unplaced & { whole: Usage }, leaves: readonly ToldCall[]): void {
    // Of the records of one call, one counts.
    const calls = new Map(leaves.map((one) => [one.tellers ?? one, one.usage]));
    const usage = minus(sum.whole, [...calls.values()]);
    if (!hasQuantity(usage) && sum.said === undefined) return;
    sum.call.sighting = { ...sum.call.sighting, usage, quality: "aggregate", known: leaves.length };
    sum.said = undefined;
    this.#place(sum);
  }
}

/** The attributes of a resource that tell the processes of a service apart. */
const PROCESS = ["host.name", "process.pid"];

/** Returns whether two records of one instrumentation can't be of one attempt at a call. */
const isEarlierOrLater = (a: ToldCall, b: ToldCall) =>
  a.scope === b.scope && (a.endsAt <= b.startsAt || b.endsAt <= a.startsAt);

/** Some spans of several calls have the name of a call, and their sum. */
const isSumOf = (told: ToldCall, inner: readonly ToldCall[]) =>
  inner.length > 1 &&
  (["inputTokens", "outputTokens"] as const).every((name) =>
    told[name] === inner.reduce((sum, one) => sum + one[name], 0)
  );

const leftOut = ({ index, origin, record }: Item, reason: string): RecordFault => ({
  index,
  reason,
  origin,
  scope: record.scope.name,
});

function unplacedOf(item: Item, usage: Usage): Unplaced {
  const { record, fields, reader, dialect } = item;
  const sighting = sightingOf(item, usage);
  return {
    call: { index: item.index, sighting, origin: item.origin },
    // A coding agent tells its place itself.
    traceId: dialect.agent ? "" : record.traceId,
    spanId: record.signal === "span" ? record.parentSpanId : record.spanId,
    own: {
      agent: dialect.agent ? undefined : reader.text(fields.agent),
      session: sighting.session,
    },
  };
}
