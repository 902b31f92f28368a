import type { SIGHTING_OUTCOMES } from "../../contract/values.ts";
import { TAG_LIMITS, type Tags, tagsText } from "../../contract/tags/tags.ts";
import { type ModelCall, toOtherModels, valueOf } from "../../ledger/mod.ts";
import { saidBesides, witnessOfCall } from "../../ledger/explain/mod.ts";
import { countsOf, type Usage, USAGE_DETAILS } from "../../pricing/mod.ts";
import type { CallContext } from "../context.ts";
import { payByPlan, priceCall } from "../make_call.ts";
import { callIdOf, callOf, tagsOfSaid, usageOfSaid } from "./call_of_witness.ts";
import { fillParts } from "./fill_parts.ts";
import { sourceOf } from "./calls_by_counts.ts";
import { type Known, mayBeInRow, type Witness } from "./known_calls.ts";
import { compareSaid, moreOf, rankOfSource, type Said, type Witnessed } from "./said.ts";

/** The entries that the ledger needs so that a call stands as its best witness says. */
export interface Settled {
  /** The call to book. */
  booked?: ModelCall;
  /** A booked call whose counts change: as it is, and as it becomes. */
  amended?: { from: ModelCall; to: ModelCall };
  /** The calls that are taken back for the one that stands. */
  withdrawn: ModelCall[];
  callId: string;
  witnesses: Witness[];
  tags?: Tags;
  /** Each sighting by what it has changed. */
  outcomes: { index: number; outcome: Outcome; isConflict: boolean }[];
}

export type Outcome = typeof SIGHTING_OUTCOMES[number];

/** The statements of one witness that are kept: the best ones of each key, so that none crowds out what another one says. */
const MAX_SAID = 8;

/** A witness of a call, or the call of the ledger itself where no sighting has led to it. */
interface Candidate {
  rank: number;
  said: Said;
  call?: ModelCall;
  witness?: Witness;
  /** True if others have added parts to what it says. */
  isFilled?: true;
  /** True if it may not correct the call. */
  isForeign?: true;
}

/** Decides how the call of some sightings stands; the order in which witnesses have come makes no difference. */
export function settleCall(ctx: Pick<CallContext, "prices">, known: Known): Settled {
  const isNew = known.standing.length === 0;
  if (isNew && known.fresh.length === 1) return bookFirst(ctx, known.fresh[0]!);
  const changed = addFresh(known);
  const candidates = candidatesOf(ctx, known);
  const owner = withSession(withPlan(filled(candidates[0]!, candidates), candidates), candidates);
  const settled = { withdrawn: [], witnesses: [], outcomes: [] } as Partial<Settled> as Settled;
  const standing = standingOf(ctx, known, owner, settled);
  settled.callId = standing.callId;
  settled.withdrawn = known.standing.filter((call) =>
    call.callId !== standing.callId && rankOfSource(call.source ?? "") > 0
  );
  const tags = tagsOf(standing, candidates);
  const before = known.tags.get(standing.callId) ?? standing.tags ?? {};
  const isEnriched = tagsText(tags) !== tagsText(before);
  if (isEnriched) settled.tags = tags;
  for (const witness of changed) {
    const isOwner = witness === owner.witness;
    const isOwn = isOwner || (!witness.isApart && witness.callId !== "");
    settled.witnesses.push({
      ...witness,
      callId: isOwn && !isOwner ? witness.callId : standing.callId,
      isApart: !isOwn,
    });
  }
  const isChanged = settled.amended !== undefined || settled.booked !== undefined ||
    settled.withdrawn.length > 0;
  let isTold = false;
  for (const one of known.fresh) {
    const isOwners = one.witness === owner.witness?.witness && one.said.key === owner.said.key;
    const isCause = !isTold && (isNew || (isChanged && !owner.isFilled) ? isOwners : isChanged || isEnriched);
    if (isCause) isTold = true;
    const outcome = !isCause ? "duplicate" : isNew ? "booked" : isChanged ? "amended" : "enriched";
    settled.outcomes.push({ index: one.index, outcome, isConflict: !isOwners && contradicts(one, standing) });
  }
  return settled;
}

/** Books the call of the only sighting of it, as most are: the row holds what it says, if it can. */
function bookFirst(
  ctx: Pick<CallContext, "prices">,
  { index, witness, said, requestId, account, fingerprint }: Witnessed,
): Settled {
  const call = {
    ...callOf(ctx, witness, said),
    requestId,
    ...(account !== null && { upstream: { account } }),
  };
  const { callId } = call;
  const isInRow = mayBeInRow(witness, said) && fingerprint === null;
  return {
    booked: isInRow ? { ...call, said: saidBesides(said) } : call,
    withdrawn: [],
    callId,
    witnesses: isInRow ? [] : [{ witness, callId, isApart: false, requestId, fingerprint, said: [said] }],
    outcomes: [{ index, outcome: "booked", isConflict: false }],
  };
}

/** Adds the sightings of the set to the witnesses of a call; returns those that say something new. */
function addFresh(known: Known): Set<Witness> {
  const { witnesses, fresh } = known;
  const changed = new Set<Witness>();
  for (const one of fresh) {
    const { witness: name, requestId, fingerprint } = one;
    const said = withEarlierKeyTags(one.said, known);
    const text = JSON.stringify(said);
    let witness = witnesses.get(name);
    if (!witness) {
      witness = { witness: name, callId: "", isApart: false, requestId, fingerprint, said: [] };
      witnesses.set(name, witness);
    }
    if (witness.said.some((one) => JSON.stringify(one) === text)) continue;
    witness.said = [...witness.said, said].sort(compareSaid);
    const ofKey = witness.said.filter(({ key }) => key === said.key);
    if (ofKey.length > MAX_SAID) witness.said.splice(witness.said.indexOf(ofKey.at(-1)!), 1);
    witness.requestId ??= requestId;
    witness.fingerprint ??= fingerprint;
    if (witness.said.includes(said)) changed.add(witness);
  }
  return changed;
}

/** Gives a statement the tags that its key had when the call was first seen under it: later ones are of later calls. */
function withEarlierKeyTags(said: Said, { witnesses, standing }: Known): Said {
  const { key } = said;
  if (key === undefined) return said;
  const before = [...witnesses.values()].flatMap((witness) => witness.said).find((one) => one.key === key);
  if (!before && !standing.some(({ keyId }) => keyId === key)) return said;
  return tagsText(before?.keyTags ?? {}) === tagsText(said.keyTags ?? {})
    ? said
    : { ...said, keyTags: before?.keyTags };
}

/** Returns what is said of a call, also by calls that no witness has led to: what may decide how it stands, best first. */
function candidatesOf(ctx: Pick<CallContext, "prices">, { standing, witnesses, first }: Known): Candidate[] {
  const candidates: Candidate[] = [...witnesses.values()].flatMap((witness) => {
    const rank = rankOfSource(sourceOf(witness.witness));
    return witness.said.map((said) => ({ rank, said, witness }));
  });
  for (const call of standing) {
    if (witnesses.has(witnessOfCall(call.source ?? "", call.callId))) continue;
    candidates.push({ rank: rankOfSource(call.source ?? ""), said: saidOfCall(call), call });
  }
  candidates.sort((a, b) => a.rank - b.rank || compareSaid(a.said, b.said));
  const booked = standing.find(({ source }) => rankOfSource(source ?? "") > 0);
  if (!booked || !first || candidates[0]!.rank === 0) return candidates;
  const itself = { rank: rankOfSource(booked.source ?? ""), said: saidOfCall(booked), call: booked };
  const isOwn = ({ said }: Candidate) => said.key === undefined || said.key === first.keyId;
  const best = candidates.find(isOwn) ?? itself;
  const own = candidates.filter((one) =>
    one.call || isOwn(one) ||
    (one.rank < rankOfSource(first.source) && !(one.said.bound && one.said.agent !== first.agentId) &&
      saysAsMuch(ctx, one, best, first.keyId !== null))
  );
  const foreign = candidates.filter((one) => !own.includes(one)).map((one) => ({
    ...one,
    isForeign: true as const,
  }));
  return [...own.length === 0 ? [itself] : own, ...foreign];
}

/**
 * Returns whether a statement of another key says at least as much as the best one of the key that has reported the call first, of
 * the same model, not that a plan pays, and, of a call of a key, for at least the same cost. Else a key could silence what another
 * one has reported.
 */
function saysAsMuch(
  ctx: Pick<CallContext, "prices">,
  one: Candidate,
  best: Candidate,
  isOfKey: boolean,
): boolean {
  const call = callOf(ctx, one.witness!.witness, one.said);
  const own = best.call ?? callOf(ctx, best.witness!.witness, best.said);
  const { usage } = own;
  return call.usage.inputTokens >= usage.inputTokens && call.usage.outputTokens >= usage.outputTokens &&
    call.usage.cacheReadTokens <= usage.cacheReadTokens && call.model === own.model &&
    call.provider === own.provider && (call.planNanoUsd === undefined || own.planNanoUsd !== undefined) &&
    (!isOfKey || (valueOf(call) ?? -1n) >= (valueOf(own) ?? -1n));
}

function filled(best: Candidate, candidates: readonly Candidate[]): Candidate {
  const said = fillParts(best.said, candidates.map((one) => one.said), best.rank === 0);
  return said === best.said ? best : { ...best, said, isFilled: true };
}

/** The rank of the sources that don't know who pays unless they say so. */
const UNSURE_OF_BILLING = rankOfSource("otlp");

/**
 * Returns the owner of a call; an exporter often doesn't know the session, or takes a sub-agent for one, where the log of the agent
 * knows better.
 */
function withSession(owner: Candidate, candidates: readonly Candidate[]): Candidate {
  if (owner.rank !== rankOfSource("otlp")) return owner;
  const { session, key } = owner.said;
  const other = candidates.find(({ said, isForeign }) =>
    said.session !== undefined && !said.copy && !isForeign && said.key === key &&
    (session === undefined || said.tags?.subagent === session)
  );
  if (!other) return owner;
  return { ...owner, said: { ...owner.said, session: other.said.session! }, isFilled: true };
}

/** Returns the owner of a call; of logs and exporters, a plan pays if one of them says so. */
function withPlan(owner: Candidate, candidates: readonly Candidate[]): Candidate {
  const isPlan = owner.rank >= UNSURE_OF_BILLING &&
    candidates.some(({ said, isForeign }) => said.plan && !isForeign);
  if (!isPlan || owner.said.plan) return owner;
  return { ...owner, said: { ...owner.said, plan: true }, isFilled: true };
}

/** Returns a call as a statement, to compare it with others. */
function saidOfCall({ usage, at, agentId, keyId, isEstimated, provider, model }: ModelCall): Said {
  const more = moreOf(usage);
  return {
    counts: countsOf(usage),
    ...(more && { more }),
    at,
    agent: agentId,
    ...(keyId && { key: keyId }),
    provider,
    model,
    ...(isEstimated && { quality: "provisional" as const }),
  };
}

/** Returns the call as its owner says; adds what the ledger needs for that. */
function standingOf(
  ctx: Pick<CallContext, "prices">,
  known: Known,
  { call, witness, said, isFilled }: Candidate,
  settled: Settled,
): ModelCall {
  if (call && !isFilled) return call;
  if (call) {
    settled.amended = { from: call, to: withParts(ctx, call, usageOfSaid(said)) };
    return settled.amended.to;
  }
  const callId = callIdOf(witness!.witness, said);
  // A call that was taken back is not booked again: the one in its place is amended.
  const from = known.standing.find((one) => one.callId === callId) ??
    (known.callIds.has(callId) ? known.standing[0] : undefined);
  if (!from) {
    const upstreamId = known.standing.find((one) => one.upstreamId !== undefined)?.upstreamId;
    return settled.booked = {
      ...callOf(ctx, witness!.witness, said),
      requestId: witness!.requestId,
      ...(upstreamId !== undefined && { upstreamId }),
    };
  }
  if (factsOf(from) === factsOf({ ...callOf({ prices: NO_PRICES }, witness!.witness, said) })) return from;
  const to = callOf(ctx, witness!.witness, said);
  settled.amended = { from, to };
  return { ...to, callId: from.callId, ...(from.tags && { tags: from.tags }) };
}

/** Returns a call with a usage that has more parts, at its price with them. */
function withParts(ctx: Pick<CallContext, "prices">, call: ModelCall, usage: Usage): ModelCall {
  const to = { ...call, usage };
  // A cost that the provider or a reporter has stated has all parts.
  if (call.priceSource === "provider" || call.priceSource === "reported") return to;
  const { unpricedParts: _u, listCostNanoUsd: _l, priceId: _p, ...rest } = to;
  const price = priceCall(ctx.prices, to);
  return { ...rest, ...(to.planNanoUsd === undefined ? price : payByPlan(price)) };
}

const NO_PRICES: CallContext["prices"] = {
  price: () => ({ costNanoUsd: null, priceSource: "none", rates: null }),
} as unknown as CallContext["prices"];

/** Returns what an amendment can change, as text; without the cost, which also follows prices. */
function factsOf(call: ModelCall): string {
  const { usage, serviceTier, speed, inferenceGeo, isEstimated, quality, marks, planNanoUsd } = call;
  return JSON.stringify([
    countsOf(usage),
    USAGE_DETAILS.map((name) => usage.details?.[name] ?? 0),
    Object.entries(usage.others ?? {}).sort(),
    usage.models && toOtherModels(usage.models),
    serviceTier ?? null,
    speed ?? null,
    inferenceGeo ?? null,
    isEstimated,
    quality ?? null,
    marks ?? null,
    planNanoUsd !== undefined,
  ]);
}

/** Returns the tags of a call: those of its own, then what other witnesses add, the best first. */
function tagsOf(standing: ModelCall, candidates: readonly Candidate[]): Tags {
  const all = candidates.map(({ call, said }) => (call ? call.tags : tagsOfSaid(said)));
  const merged: Record<string, string> = {};
  for (const tags of [...all, standing.tags]) {
    for (const [key, value] of Object.entries(tags ?? {})) {
      if (!Object.hasOwn(merged, key) && Object.keys(merged).length < TAG_LIMITS.ofCall) merged[key] = value;
    }
  }
  return merged;
}

/** Returns whether a sighting says other counts than those that stand, and not only earlier ones. */
function contradicts({ said }: Witnessed, { usage }: ModelCall): boolean {
  if (said.quality === "cost_only") return false;
  const [input, output, cacheRead] = said.counts;
  return input !== usage.inputTokens || cacheRead !== usage.cacheReadTokens ||
    (output !== usage.outputTokens && !(said.quality === "provisional" && output <= usage.outputTokens));
}
