import { toProviderName } from "../../contract/costs/provider_names.ts";
import type { ModelCall } from "../../ledger/mod.ts";
import { providerOf } from "./call_of_witness.ts";
import { MAX_SKEW_MS, mayLackCache, sourceOf } from "./calls_by_counts.ts";
import { type Found, Known, readKnown } from "./known_calls.ts";
import type { CallContext } from "../context.ts";
import { rankOfSource, type Said, type Witnessed } from "./said.ts";

/*
 * Finds the call that each sighting is of. The provider's id of the answer identifies it where the providers agree, or, where one
 * witness doesn't know who bills, the counts; else the id of the request, a fingerprint, or the ref. A sighting without any id
 * of the answer may also be of a call of the gateway, a run or a meter with the same counts at the same time: those know no request.
 */

/** Ids that programs put in the place of one: they identify nothing unless the counts agree. */
const PLACEHOLDER =
  /^(?:[A-Za-z]+[-_])?(?:\d{0,6}|[0-]+|[x-]+)$|^(?:(?:chatcmpl|resp|msg|gen|id|test|mock|fake|dummy|none|null|undefined|unknown)[-_]?)+\d{0,6}$/i;

export const isPlaceholder = (id: string): boolean => id.length < 8 || PLACEHOLDER.test(id);

/** The facts by which calls are compared: of a call of the ledger, or of a witness. */
interface Facts {
  /** Undefined where the witness doesn't know who bills. */
  provider: string | undefined;
  input: number;
  output: number;
  cacheRead: number;
  /** True if its output may still grow. */
  isGrowing: boolean;
  at: number;
  duration: number;
}

const factsOfSaid = ({ provider, counts, quality, at, duration = 0 }: Said): Facts => ({
  at,
  duration,
  provider,
  input: counts[0],
  output: counts[1],
  cacheRead: counts[2],
  isGrowing: quality === "provisional",
});

const factsOfCall = ({ provider, usage, isEstimated, at, durationMs }: ModelCall): Facts => ({
  at,
  duration: durationMs ?? 0,
  provider,
  input: usage.inputTokens,
  output: usage.outputTokens,
  cacheRead: usage.cacheReadTokens,
  isGrowing: isEstimated,
});

function haveSameCounts(a: Facts, b: Facts): boolean {
  return a.input === b.input && a.cacheRead === b.cacheRead && (a.output === b.output ||
    (a.isGrowing && a.output <= b.output) || (b.isGrowing && b.output <= a.output));
}

/** Returns whether two calls with the same id of the answer are the same. */
function isSame(id: string, a: Facts, b: Facts): boolean {
  if (a.provider !== undefined && b.provider !== undefined) {
    if (toProviderName(a.provider) !== toProviderName(b.provider)) return false;
    if (!isPlaceholder(id)) return true;
  }
  return haveSameCounts(a, b) && (!isPlaceholder(id) || areNear(a, b));
}

/** Returns whether two calls may be at the same time. */
const areNear = (a: Facts, b: Facts): boolean =>
  a.at <= b.at + b.duration + MAX_SKEW_MS && b.at <= a.at + a.duration + MAX_SKEW_MS;

/** Returns what is known of a call as facts, each of a witness: of calls of the ledger and of sightings. */
function factsOf({ standing, witnesses, fresh }: Known): Facts[] {
  const said = [
    ...[...witnesses.values()].flatMap((witness) => witness.said),
    ...fresh.map((one) => one.said),
  ];
  // The provider of a call that was booked from a witness is a guess where the witness doesn't know it.
  const own = new Set([...witnesses.values()].filter(({ isApart }) => !isApart).map(({ callId }) => callId));
  return [...standing.filter(({ callId }) => !own.has(callId)).map(factsOfCall), ...said.map(factsOfSaid)];
}

/** Returns whether a sighting is of a call with the same id of the answer. */
function hasSameAnswer(id: string, known: Known, { witness, said }: Witnessed): boolean {
  if (known.witnesses.has(witness) || known.fresh.some((one) => one.witness === witness)) return true;
  const facts = factsOfSaid(said);
  const all = factsOf(known);
  // One name of the provider decides over all.
  const named = all.filter(({ provider }) => provider !== undefined);
  return (facts.provider !== undefined && named.length > 0 ? named : all).some((one) =>
    isSame(id, one, facts)
  );
}

/** Groups sightings by their calls: those that are known, and new ones. */
export async function matchCalls(
  ctx: CallContext,
  found: Found,
  set: readonly Witnessed[],
): Promise<Known[]> {
  const candidates = new Set<string>();
  for (const { callId } of found.byWitness.values()) candidates.add(callId);
  for (const ids of [found.byResponse, found.byRequest, found.byFingerprint]) {
    for (const callIds of ids.values()) for (const callId of callIds) candidates.add(callId);
  }
  for (const callIds of found.byCounts.values()) for (const callId of callIds) candidates.add(callId);
  const known = candidates.size === 0 ? new Map<string, Known>() : await readKnown(ctx, candidates);
  const calls = new Calls(known, found);
  for (const one of set) calls.add(one);
  return calls.touched();
}

/** The calls of a set of sightings, as they are found one after the other. */
class Calls {
  /** The call that another one has turned out to be. */
  readonly #merged = new Map<Known, Known>();
  readonly #byWitness = new Map<string, Known>();
  readonly #byResponse = new Map<string, Known[]>();
  readonly #byRequest = new Map<string, Known>();
  readonly #byFingerprint = new Map<string, Known>();
  readonly #touched = new Set<Known>();

  constructor(private readonly known: ReadonlyMap<string, Known>, private readonly found: Found) {}

  touched(): Known[] {
    return [...this.#touched].filter((one) => !this.#merged.has(one));
  }

  add(sighting: Witnessed): void {
    const { witness, said, requestId, fingerprint } = sighting;
    const kept = this.found.byWitness.get(witness);
    const same = new Set<Known>();
    const take = (one: Known | undefined) => one && same.add(this.#rootOf(one));
    take(this.#byWitness.get(witness) ?? (kept && this.known.get(kept.callId)));
    const [named] = same;
    if (said.response !== undefined) {
      for (const one of this.#answers(said.response)) {
        if (hasSameAnswer(said.response, one, sighting)) take(one);
      }
    }
    if (requestId !== null) {
      take(this.#byRequest.get(requestId));
      for (const callId of this.found.byRequest.get(requestId) ?? []) take(this.known.get(callId));
    }
    if (fingerprint !== null) {
      take(this.#byFingerprint.get(fingerprint));
      for (const callId of this.found.byFingerprint.get(fingerprint) ?? []) take(this.known.get(callId));
    }
    take(this.#byCounts(sighting, same));
    const call = this.#merge(joinable(same, named, said));
    call.fresh.push(sighting);
    this.#touched.add(call);
    this.#byWitness.set(witness, call);
    if (said.response !== undefined) {
      const all = this.#byResponse.get(said.response);
      if (all) all.push(call);
      else this.#byResponse.set(said.response, [call]);
    }
    if (requestId !== null) this.#byRequest.set(requestId, call);
    if (fingerprint !== null) this.#byFingerprint.set(fingerprint, call);
  }

  #answers(response: string): Iterable<Known> {
    const [own, found] = [this.#byResponse.get(response), this.found.byResponse.get(response)];
    if (!own && !found) return [];
    const booked = [...found ?? []].flatMap((callId) => this.known.get(callId) ?? []);
    return new Set([...own ?? [], ...booked].map((one) => this.#rootOf(one)));
  }

  /** Finds a call by the counts of a sighting: one of the gateway, a run or a meter, or one of its agent's log or telemetry. */
  #byCounts({ index, witness, said, requestId }: Witnessed, same: ReadonlySet<Known>): Known | undefined {
    const candidates = this.found.byCounts.get(index);
    if (!candidates || [...same].some(isOfCaller)) return undefined;
    const own = sourceOf(witness);
    const near = candidates.flatMap((callId) => {
      const known = this.known.get(callId);
      const call = known?.standing.find((one) => one.callId === callId);
      if (!known || !call || !mayBeOf(own, said, call)) return [];
      const root = this.#rootOf(known);
      const isTaken = isOfCaller(root)
        ? hasWitness(root, own, true)
        : !isSameAgent(said, call) || hasWitness(root, own) ||
          [...same].some((one) => hasWitness(one, call.source!));
      return isTaken ? [] : [{
        known,
        isOther: Number(requestId === null || call.requestId !== requestId),
        grown: Math.abs(call.usage.outputTokens - said.counts[1]),
        apart: Math.abs(call.at - said.at),
      }];
    });
    return near.sort((a, b) => a.isOther - b.isOther || a.grown - b.grown || a.apart - b.apart)[0]?.known;
  }

  #rootOf(known: Known): Known {
    let root = known;
    for (let next; (next = this.#merged.get(root));) root = next;
    return root;
  }

  #merge([first, ...others]: Known[]): Known {
    const into = first ?? new Known();
    for (const one of others) {
      this.#merged.set(one, into);
      into.standing.push(...one.standing);
      into.fresh.push(...one.fresh);
      if (one.first && !(into.first && into.first.position < one.first.position)) into.first = one.first;
      for (const callId of one.callIds) into.callIds.add(callId);
      for (const [name, witness] of one.witnesses) into.witnesses.set(name, witness);
      for (const [callId, tags] of one.tags) into.tags.set(callId, tags);
    }
    return into;
  }
}

/**
 * Returns which calls a statement joins to one; `named` is that of its witness. The statement of a key joins no call of another key
 * with others, as it could take one of them out of the bill: it is of such a call if its witness or nothing else is.
 */
function joinable(same: ReadonlySet<Known>, named: Known | undefined, { key }: Said): Known[] {
  const all = [...same];
  if (key === undefined) return all;
  const isOfOther = ({ standing, first }: Known) =>
    first !== undefined && first.keyId !== key &&
    standing.some(({ source }) => rankOfSource(source ?? "") > 0);
  if (named && isOfOther(named)) return [named];
  const own = all.filter((one) => !isOfOther(one));
  return own.length > 0 ? own : all.slice(0, 1);
}

const hasNoAnswerId = ({ response }: Said) => response === undefined;

/** Returns whether the gateway, a run or a meter has booked a call. */
const isOfCaller = ({ standing }: Known) => standing.some(({ source }) => rankOfSource(source ?? "") === 0);

/** Returns whether a call has a witness of a source: each takes one at most that is found by its counts. */
function hasWitness({ witnesses, fresh }: Known, source: string, isWithoutId = false): boolean {
  return [...witnesses.values()].some(({ witness, said }) =>
    sourceOf(witness) === source && (!isWithoutId || said.every(hasNoAnswerId))
  ) || fresh.some(({ witness, said }) =>
    sourceOf(witness) === source && (!isWithoutId || hasNoAnswerId(said))
  );
}

/** Returns the name of a model without its provider, and without a date or `latest` at its end. */
export const bareModel = (model: string): string =>
  model.slice(Math.max(model.lastIndexOf("/"), model.lastIndexOf(":")) + 1)
    .replace(/[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, "").toLowerCase();

/** Returns whether a statement without ids and with the counts of a call may be of it. */
function mayBeOf(source: string, said: Said, call: ModelCall): boolean {
  const { usage, at, durationMs, sessionId, model } = call;
  const from = at - MAX_SKEW_MS;
  const to = at + (durationMs ?? 0) + MAX_SKEW_MS;
  const [, , , , , reasoning] = said.counts;
  const facts = factsOfSaid(said);
  if (mayLackCache(source, facts.cacheRead)) facts.cacheRead = usage.cacheReadTokens;
  return said.at >= from && said.at <= to && haveSameCounts(facts, factsOfCall(call)) &&
    (said.model === undefined || bareModel(said.model) === bareModel(model)) &&
    (reasoning === 0 || usage.reasoningTokens === 0 || reasoning === usage.reasoningTokens) &&
    (isSameSession(said.session ?? null, sessionId) || isSameAgent(said, call)) &&
    (said.provider === undefined || toProviderName(providerOf(said)) === toProviderName(call.provider) ||
      !call.provider.includes("."));
}

/**
 * Returns whether a statement is of the session of a call. An agent may export a sub-agent as a session of its own, which its log has
 * under the session of the root.
 */
const isSameAgent = ({ session, tags }: Said, { sessionId, tags: own }: ModelCall): boolean =>
  session !== undefined && sessionId !== null &&
  (isSameSession(session, sessionId) || session === own?.subagent || sessionId === tags?.subagent);

/** A session of a key of one agent is named after it: `AGENT:SESSION`. */
export const isSameSession = (a: string | null, b: string | null): boolean =>
  a === null || b === null || a === b || a.endsWith(`:${b}`) || b.endsWith(`:${a}`);
