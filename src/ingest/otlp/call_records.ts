import { isPlaceholder, type Sighting } from "../../calls/mod.ts";
import { toProviderName } from "../../contract/costs/provider_names.ts";
import { toName } from "../../ledger/mod.ts";
import { countsOf, type Usage, USAGE_FIELDS, usageOf } from "../../pricing/mod.ts";
import type { Dialect, Fields, Rule } from "./dialects/dialect.ts";
import { AttributeReader, readUsage, ruleOf } from "./dialects/read_fields.ts";
import { CONVENTIONS, dialectOf } from "./dialects/registry.ts";
import type { CallRecord, RecordOrigin } from "./read_records.ts";
import type { Attributes, TelemetryRecord } from "./records.ts";
import type { Place, SpanNode } from "./traces.ts";

/* What one record says, by the table of its dialect. */

/** A record of a call or an agent. */
export interface Item {
  index: number;
  record: TelemetryRecord;
  reader: AttributeReader;
  dialect: Dialect;
  rule: Rule;
  fields: Fields;
  origin: RecordOrigin;
  usage?: Usage;
  /** False if its counts had to be completed. */
  isExact: boolean;
  /** The reason why its counts can't be any. */
  fault?: string;
  node?: SpanNode;
}

/** Reads a record; undefined for one that is neither of a call nor of an agent, or that Purser has written. */
export function itemOf(record: TelemetryRecord, index: number): Item | undefined {
  const dialect = dialectOf(record.scope);
  if (dialect === undefined) return undefined;
  const reader = new AttributeReader(record, dialect.texts);
  const rule = ruleOf(reader, dialect);
  if (rule === undefined || rule.is === "other") return undefined;
  if (record.attributes.has("purser.call.id") || isPending(record)) return undefined;
  const fields = fieldsOf(dialect, rule);
  const origin = originOf(record, dialect);
  const item: Item = { index, record, reader, dialect, rule, fields, origin, isExact: true };
  if (rule.is === "repeat" || rule.is === "spawn") return item;
  try {
    const read = readUsage(reader, fields.counts);
    if (read) Object.assign(item, read);
  } catch (error) {
    item.fault = (error as Error).message;
  }
  return item;
}

const merged = new WeakMap<Rule, Fields>();

function fieldsOf(dialect: Dialect, rule: Rule): Fields {
  if (!rule.fields) return dialect.fields;
  let fields = merged.get(rule);
  if (!fields) merged.set(rule, fields = { ...dialect.fields, ...rule.fields });
  return fields;
}

/** A span that goes on is sent again at its end. */
const isPending = (record: TelemetryRecord) =>
  record.signal === "span" &&
  (Number.isNaN(record.endsAt) || record.attributes.get("logfire.span_type") === "pending_span");

/** The origins of resources, which the records of a request share. */
const origins = new WeakMap<Attributes, Map<string, RecordOrigin>>();

function originOf({ resource, scope }: TelemetryRecord, { agent }: Dialect): RecordOrigin {
  let known = origins.get(resource);
  if (!known) origins.set(resource, known = new Map());
  const key = agent ?? `scope ${scope.name}`;
  let origin = known.get(key);
  if (!origin) {
    const service = textOf(resource.get("service.name"));
    const name = toName(agent ?? service ?? (scope.name || "otlp"));
    const machine = textOf(resource.get("host.name"));
    known.set(key, origin = { name, agentId: name, ...(machine !== undefined && { machine }) });
  }
  return origin;
}

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

/** Returns the session that a span names, whatever it is. */
export function sessionOf({ attributes }: TelemetryRecord): string | undefined {
  return textOf(attributes.get("gen_ai.conversation.id") ?? attributes.get("session.id"));
}

export function responseIdOf({ reader, fields, dialect }: Item): string | undefined {
  const id = reader.text(fields.responseId);
  return id !== undefined && dialect.ownIds?.test(id) ? undefined : id;
}

/** No model was called before, and none is called after. */
const FIRST_TIME = Date.parse("2018-01-01T00:00:00Z");
const LAST_TIME = Date.parse("2200-01-01T00:00:00Z");

/** Returns why a record can't be of a call, or undefined. */
export function faultOf(record: TelemetryRecord): string | undefined {
  const at = record.signal === "span" ? record.startsAt : record.at;
  if (!(at >= FIRST_TIME && at < LAST_TIME)) return "its time is none at which a model was called";
  if (record.signal === "span" && record.endsAt < record.startsAt) return "it ends before it begins";
  if (record.signal === "span" && (record.traceId === "" || record.spanId === "")) {
    return "it has no trace or span id";
  }
  return undefined;
}

export function hasFailed(record: TelemetryRecord): boolean {
  const { attributes } = record;
  return (record.signal === "span" && record.hasFailed) || attributes.has("error.type") ||
    attributes.get("success") === false ||
    [attributes.get("gen_ai.response.finish_reasons")].flat().some((reason) =>
      typeof reason === "string" && /\berror\b/.test(reason)
    );
}

export function sightingOf(item: Item, usage: Usage): Sighting {
  const { record, reader, fields, rule, dialect, isExact } = item;
  const provider = reader.text(fields.provider);
  const model = reader.text(fields.model);
  const responseId = responseIdOf(item);
  const requestId = identifying(reader.text(fields.requestId));
  const session = reader.text(fields.session);
  const { at, durationMs } = timesOf(item);
  const speed = reader.text(fields.speed);
  return {
    ref: refOf(item, usage, identifying(responseId) ?? requestId, session),
    responseId,
    requestId,
    account: reader.text(fields.account),
    provider: provider === undefined || dialect.noProviders?.test(provider)
      ? undefined
      : toProviderName(provider),
    model,
    at,
    durationMs,
    usage,
    quality: rule.quality ?? (isExact && dialect !== CONVENTIONS ? "exact" : "derived"),
    marks: model === undefined ? ["model_missing"] : undefined,
    serviceTier: reader.text(fields.serviceTier),
    speed: speed === "normal" ? undefined : speed,
    statedCostUsd: usdOf(reader.first(fields.cost)),
    session,
    run: record.traceId === "" ? undefined : `trc_${record.traceId}`,
    isFoundByCounts: dialect.isFoundByCounts,
    subagent: subagentOf(item),
  };
}

/** A server may give all answers one id, which names none of them. */
const identifying = (id: string | undefined) => (id === undefined || isPlaceholder(id) ? undefined : id);

/** A span begins with its call; a log is written at the end of it. */
function timesOf({ record, reader, fields }: Item): { at: number; durationMs?: number } {
  if (record.signal === "span") {
    return {
      at: Math.floor(record.startsAt),
      durationMs: Math.max(0, Math.round(record.endsAt - record.startsAt)),
    };
  }
  const duration = Number(reader.text(fields.durationMs));
  const durationMs = duration >= 0 && duration < 86_400_000 ? Math.round(duration) : undefined;
  return { at: Math.floor(record.at - (durationMs ?? 0)), durationMs };
}

function refOf({ record, rule }: Item, usage: Usage, id: string | undefined, session = ""): string {
  const { traceId, spanId } = record;
  if (record.signal === "span" || (rule.ref === "span" && spanId !== "")) return `${traceId}:${spanId}`;
  return id ?? `${session || `${traceId}:${spanId}`}:${Math.floor(record.at)}:${countsOf(usage).join("-")}`;
}

/** Returns the key of a call whose records share no id; undefined for any other. */
export function keyOf({ reader, rule }: Item): string | undefined {
  return rule.joinedBy?.map((name) => reader.text([name]) ?? "").join(":");
}

/** Returns a cost as decimal text; 0 says nothing beside tokens. */
function usdOf(value: unknown): string | undefined {
  const cost = typeof value === "string" ? Number(value) : value;
  return typeof cost === "number" && Number.isFinite(cost) && cost > 0 ? String(cost) : undefined;
}

function subagentOf({ reader, fields: { subagent } }: Item): Sighting["subagent"] {
  const named = reader.text(subagent?.id);
  if (subagent === undefined || named === undefined) return undefined;
  const id = subagent.idPattern ? subagent.idPattern.exec(named)?.[1] : named;
  if (id === undefined) return undefined;
  return { id, parent: reader.text(subagent.parent), type: reader.text(subagent.type) };
}

/** Returns a call in its place: of the innermost agent, which is a sub-agent of those around it. */
export function placed(call: CallRecord, { agents, session, known }: Place): CallRecord {
  const [agent, parent, ...others] = agents;
  const { sighting, origin } = call;
  return {
    ...call,
    origin: agent === undefined ? origin : { ...origin, agentId: toName(agent) },
    sighting: {
      ...sighting,
      ...(session !== undefined && { session }),
      ...(known !== undefined && sighting.known === undefined && { known }),
      ...(parent !== undefined && {
        subagent: { id: agent!, ...(others.length > 0 && { parent }), type: agent! },
      }),
    },
  };
}

/** Returns what a sum has beyond the calls that it holds. */
export function minus(whole: Usage, parts: readonly Usage[]): Usage {
  const rest = usageOf({});
  for (const name of USAGE_FIELDS) {
    rest[name] = Math.max(0, parts.reduce((sum, part) => sum - part[name], whole[name]));
  }
  return rest;
}
