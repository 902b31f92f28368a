import { MAX_CALL_TOKENS, MAX_CALL_USD } from "../../contract/limits.ts";
import { TAG_LIMITS, tagIssues, type Tags, toTagValue } from "../../contract/tags/tags.ts";
import { NANO_PER_USD, roundUsd } from "../../kernel/money.ts";
import { MAX_AHEAD_MS, toName, type Viewer } from "../../ledger/mod.ts";
import type { Said } from "../../ledger/explain/mod.ts";
import { checkUsage, countsOf, type Usage } from "../../pricing/mod.ts";
import type { CallContext } from "../context.ts";
import type { Quality, Sighting } from "./sighting.ts";

export type { Said };

/** The API key that sends what was seen: one of one agent corrects no call of another. `keyTags`: the tags that it gives its calls. */
export type Sender = Pick<Viewer, "keyId"> & { agentId?: string | undefined; keyTags?: Tags | undefined };

/** Who has seen calls. */
export interface SightingOrigin {
  source: "log" | "otlp" | "report";
  /** The machine whose logs these are, such as `laptop`; a tag of the calls. */
  machine?: string;
  /** The agent or the exporter, such as `claude-code`: refs are unique within it. */
  name: string;
  /** The agent that the calls are attributed to. */
  agentId: string;
  sender?: Sender;
}

/** A sighting, ready to be compared and kept. */
export interface Witnessed {
  index: number;
  /** `source:name:ref`. */
  witness: string;
  said: Said;
  requestId: string | null;
  /** The provider's id of the account. It is no statement about the call: others have nothing to compare it with. */
  account: string | null;
  fingerprint: string | null;
  /** True if another witness of its call may share nothing with it but its counts. */
  isFoundByCounts: boolean;
}

/** The most characters of an id or a name that is kept. */
const MAX_TEXT = 200;

/** Returns a text that any database can store; undefined for an empty one. */
function clean(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll("\0", "\ufffd");
}

/**
 * Converts a sighting to what is kept of it.
 *
 * @throws {Error} it can't be a call: the message says why
 */
export function witnessOf(
  ctx: Pick<CallContext, "clock" | "secrets">,
  origin: SightingOrigin,
  sighting: Sighting,
  index: number,
): Witnessed {
  const { usage, at, quality } = sighting;
  if (!Number.isSafeInteger(at) || at < 0) throw new Error("its time is no time after 1970");
  if (at > ctx.clock.now() + MAX_AHEAD_MS) throw new Error("its time is more than five minutes ahead");
  const ref = clean(sighting.ref);
  if (ref === undefined) throw new Error("it has no ref");
  checkUsage(usage);
  if (usage.inputTokens > MAX_CALL_TOKENS || usage.outputTokens > MAX_CALL_TOKENS) {
    throw new Error(`it has more than ${MAX_CALL_TOKENS} tokens`);
  }
  const said: Said = {
    counts: countsOf(usage),
    more: moreOf(usage),
    at,
    agent: origin.agentId,
    session: sighting.session ? toName(sighting.session) : undefined,
    run: sighting.run ? toName(sighting.run) : undefined,
    known: sighting.known,
    key: origin.sender?.keyId ?? undefined,
    bound: origin.sender?.agentId === undefined ? undefined : true,
    provider: clean(sighting.provider),
    model: clean(sighting.model),
    response: clean(sighting.responseId),
    copy: sighting.isCopy ? true : undefined,
    quality: quality === "exact" ? undefined : quality,
    marks: sighting.marks?.length ? sighting.marks : undefined,
    duration: sighting.durationMs === undefined ? undefined : Math.round(sighting.durationMs),
    tier: clean(sighting.serviceTier),
    speed: clean(sighting.speed),
    geo: clean(sighting.inferenceGeo),
    tools: sighting.tools?.length ? sighting.tools.map((tool) => clean(tool) ?? "") : undefined,
    stated: statedOf(sighting.statedCostUsd),
    plan: sighting.isPlan ? true : undefined,
    tags: tagsOf(ctx, origin, sighting),
    keyTags: origin.sender?.keyTags,
  };
  return {
    index,
    witness: `${origin.source}:${origin.name}:${ref}`,
    said,
    requestId: clean(sighting.requestId) ?? null,
    account: clean(sighting.account && ctx.secrets.scrub(sighting.account)) ?? null,
    isFoundByCounts: said.response === undefined || sighting.isFoundByCounts === true,
    fingerprint: sighting.fingerprint ? `${origin.name}:${clean(sighting.fingerprint)}` : null,
  };
}

/** Returns the parts of a usage that most calls don't have. */
export function moreOf({ details, others, models }: Usage): Said["more"] {
  if (!details && !others && !models) return undefined;
  return { ...(details && { details }), ...(others && { others }), ...(models && { models }) };
}

/** Returns a stated cost as it is written; an amount that can't be one is unknown. */
function statedOf(stated: string | undefined): string | undefined {
  if (stated === undefined) return undefined;
  try {
    const nano = roundUsd(stated);
    return nano >= 0n && nano <= BigInt(MAX_CALL_USD) * NANO_PER_USD ? stated : undefined;
  } catch {
    return undefined;
  }
}

/** The tags of the last sighting: the next one's are often the same. */
let last: { key: string; secrets: object; tags: Tags | undefined } | undefined;

/** Returns the tags of a call: its own, then those of its place, cut to what a tag may be. */
function tagsOf(
  { secrets }: Pick<CallContext, "secrets">,
  { machine }: SightingOrigin,
  { folder, branch, subagent, tags }: Sighting,
): Tags | undefined {
  const place = [folder, branch, machine, subagent?.id, subagent?.type, subagent?.parent];
  const key = JSON.stringify([place, tags]);
  if (last?.key === key && last.secrets === secrets) return last.tags;
  const all: Record<string, string | undefined> = {
    project: folder?.split(/[/\\]/).findLast(Boolean),
    branch,
    machine,
    subagent: subagent?.id,
    subagent_type: subagent?.type,
    subagent_of: subagent?.parent,
    ...tags,
  };
  const entries: [string, string][] = [];
  for (const [key, value] of Object.entries(all)) {
    if (value === undefined || entries.length === TAG_LIMITS.tags) continue;
    const cut = toTagValue(secrets.scrub(value));
    if (tagIssues({ [key]: cut }).length === 0) entries.push([key, cut]);
  }
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  last = { key, secrets, tags: entries.length === 0 ? undefined : Object.fromEntries(entries) };
  return last.tags;
}

const QUALITY_RANKS: Readonly<Record<Quality, number>> = {
  exact: 0,
  derived: 1,
  aggregate: 2,
  provisional: 3,
  cost_only: 4,
};

/** The sources of calls, the most trusted first; those of one rank are trusted alike. */
const SOURCE_RANKS: Readonly<Record<string, number>> = {
  run: 0,
  meter: 0,
  gateway: 0,
  report: 1,
  otlp: 2,
  log: 3,
};

export const rankOfSource = (source: string): number => SOURCE_RANKS[source] ?? 0;

/**
 * Compares what two witnesses of one source have said: negative if the first is the better one. A session of its own comes
 * before a copy, and before a sub-agent that repeats its answer with other counts of the cache; a final count before one of a
 * call that went on, a larger output before a smaller one. The rest decides only so that the order in which they came doesn't.
 */
export function compareSaid(a: Said, b: Said): number {
  return Number(a.copy ?? false) - Number(b.copy ?? false) ||
    Number(isOfSubagent(a)) - Number(isOfSubagent(b)) ||
    QUALITY_RANKS[a.quality ?? "exact"] - QUALITY_RANKS[b.quality ?? "exact"] ||
    compareNumbers(b.known ?? Infinity, a.known ?? Infinity) ||
    b.counts[1] - a.counts[1] ||
    b.counts[0] - a.counts[0] ||
    Number(b.provider !== undefined) - Number(a.provider !== undefined) ||
    Number(b.model !== undefined) - Number(a.model !== undefined) ||
    a.at - b.at ||
    compareTexts(JSON.stringify(a), JSON.stringify(b));
}

const compareNumbers = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);

const isOfSubagent = ({ tags }: Said) => tags?.subagent !== undefined;

const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
