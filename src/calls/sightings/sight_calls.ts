import { checkAgentName } from "../../agents/mod.ts";
import { FORGET_HEADROOM } from "../../budgets/reservations/mod.ts";
import { MAX_SIGHTINGS } from "../../contract/limits.ts";
import { tagsText } from "../../contract/tags/tags.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { recordPrices } from "../../ledger/mod.ts";
import { replaceState, type Statement, type Store } from "../../store/mod.ts";
import { bookLooseCalls } from "../book_call.ts";
import type { CallContext } from "../context.ts";
import { amendCalls, withdrawCalls } from "./entries.ts";
import { findKnown, type Witness } from "./known_calls.ts";
import { matchCalls } from "./match_calls.ts";
import { type Said, type SightingOrigin, type Witnessed, witnessOf } from "./said.ts";
import { type Outcome, settleCall, type Settled } from "./settle_call.ts";
import type { Sighting } from "./sighting.ts";

/** The numbers of sightings by what they have changed. Each of them is counted once, besides its conflict. */
export interface SightingResult {
  /** The calls that they have booked. */
  booked: number;
  /** The sightings that say nothing new of a call. */
  duplicates: number;
  /** The calls whose counts or place they have corrected. */
  amended: number;
  /** The calls to which they have added tags. */
  enriched: number;
  /** The sightings that no call can be made of. */
  refused: number;
  /** The sightings whose counts contradict those of a better witness. */
  conflicts: number;
  /** The calls that they have booked without a known price. */
  unpriced: number;
  /** The cost of what they have booked and corrected. */
  costNanoUsd: bigint;
  /** The same of what plans pay for, by the API's prices. */
  planNanoUsd: bigint;
  /** Each sighting by what it has changed, in their order. */
  outcomes: Outcome[];
  /** The reasons of those that were refused, by their index. */
  reasons: Map<number, string>;
}

/**
 * Takes what a log, an exporter or a reporter has seen of calls. The first sighting of a call books it; later ones are kept as
 * evidence, and correct or complete it. Seen again, a sighting changes nothing. Those of one request are one commit, before which
 * `onCommit` is called; with `mayLose`, a power loss may undo it until the next one without.
 *
 * @throws {PurserError} `invalid` for the agent of the origin; a sighting of an agent of its own that can't be one is refused alone
 */
export async function sightCalls(
  ctx: CallContext,
  origin: SightingOrigin,
  sightings: readonly Sighting[],
  { mayLose = false, onCommit = () => {} }: { mayLose?: boolean; onCommit?: () => void } = {},
): Promise<SightingResult> {
  checkAgentName(origin.agentId);
  await ctx.prices.ready?.();
  const result = newResult(sightings.length);
  for (let start = 0; start < sightings.length; start += MAX_SIGHTINGS) {
    const set: Witnessed[] = [];
    sightings.slice(start, start + MAX_SIGHTINGS).forEach((sighting, index) => {
      try {
        const { of } = sighting;
        if (of) checkAgentName(of.agentId);
        set.push(witnessOf(ctx, of ? { ...origin, ...of } : origin, sighting, start + index));
      } catch (error) {
        refuse(result, start + index, messageOf(error));
      }
    });
    await sightSet(ctx, set, { result, mayLose, onCommit });
  }
  return result;
}

const newResult = (sightings: number): SightingResult => ({
  booked: 0,
  duplicates: 0,
  amended: 0,
  enriched: 0,
  refused: 0,
  conflicts: 0,
  unpriced: 0,
  costNanoUsd: 0n,
  planNanoUsd: 0n,
  outcomes: new Array<Outcome>(sightings).fill("duplicate"),
  reasons: new Map(),
});

function refuse(result: SightingResult, index: number, reason: string): void {
  result.refused++;
  result.outcomes[index] = "refused";
  result.reasons.set(index, reason);
}

/** The sets of a process follow each other: each begins with a read. Other processes are refused by the guard, and read again. */
const turns = new WeakMap<Store, Promise<unknown>>();

/** Commits some sightings, and counts what they have changed. */
async function sightSet(
  ctx: CallContext,
  set: readonly Witnessed[],
  { result, mayLose, onCommit }: { result: SightingResult; mayLose: boolean; onCommit: () => void },
): Promise<void> {
  if (set.length === 0) return;
  const before = turns.get(ctx.store);
  const turn = (async () => {
    await before;
    return await replaceState("the witnesses of calls", () => commitSet(ctx, set, mayLose, onCommit));
  })();
  turns.set(ctx.store, turn.catch(() => {}));
  const { repeated, settled } = await turn;
  result.duplicates += repeated;
  for (const { booked, amended, withdrawn, outcomes } of settled) {
    for (const name of ["costNanoUsd", "planNanoUsd"] as const) {
      result[name] += (booked?.[name] ?? 0n) + (amended?.to[name] ?? 0n) -
        [...withdrawn, ...amended ? [amended.from] : []].reduce((sum, call) => sum + (call[name] ?? 0n), 0n);
    }
    if (booked?.costNanoUsd === null && outcomes.some(({ outcome }) => outcome === "booked")) {
      result.unpriced++;
    }
    for (const { index, outcome, isConflict } of outcomes) {
      result.outcomes[index] = outcome;
      if (outcome === "duplicate") result.duplicates++;
      else result[outcome]++;
      if (isConflict) result.conflicts++;
    }
  }
}

async function commitSet(
  ctx: CallContext,
  set: readonly Witnessed[],
  mayLose: boolean,
  onCommit: () => void,
): Promise<{ repeated: number; settled: Settled[] }> {
  const found = await findKnown(ctx, set);
  const fresh = withoutRepeated(set, found.byWitness);
  const repeated = set.length - fresh.length;
  if (fresh.length === 0) return { repeated, settled: [] };
  const settled = (await matchCalls(ctx, found, fresh)).map((known) => settleCall(ctx, known));
  onCommit();
  await commitSettled(ctx, found.guard, settled, mayLose);
  return { repeated, settled };
}

/** Commits what has changed of some calls, unless what it was planned by is no longer so. */
export async function commitSettled(
  ctx: CallContext,
  guard: Statement,
  settled: readonly Settled[],
  mayLose = false,
): Promise<void> {
  if (settled.every(isUnchanged)) return;
  const calls = settled.flatMap(({ booked }) => booked ?? []);
  const amended = settled.flatMap(({ amended }) =>
    amended ? { entryId: ctx.ids.next("amd"), ...amended } : []
  );
  const withdrawn = settled.flatMap(({ callId, withdrawn }) =>
    withdrawn.map((call) => ({ callId: call.callId, stands: callId }))
  );
  const witnessed = {
    before: [
      guard,
      ...recordPrices(amended.map(({ to }) => to), new Set()).statements,
      ...withdrawCalls(withdrawn),
      ...amendCalls(amended),
    ],
    after: [
      ...keepWitnesses(settled.flatMap(({ witnesses }) => witnesses)),
      ...keepTags(settled),
      ...amended.length + withdrawn.length > 0 ? [FORGET_HEADROOM] : [],
      COUNT,
    ],
    amended: amended.map(({ to, from }) => ({ ...to, callId: from.callId })),
  };
  await bookLooseCalls(ctx, calls, { witnessed, mayLose });
}

const isUnchanged = ({ booked, amended, withdrawn, witnesses, tags }: Settled) =>
  !booked && !amended && withdrawn.length === 0 && witnesses.length === 0 && !tags;

/** Returns the sightings that were not seen before, each once. */
function withoutRepeated(set: readonly Witnessed[], kept: ReadonlyMap<string, Witness>): Witnessed[] {
  const seen = new Map<string, Said[]>();
  for (const { witness, said } of kept.values()) seen.set(witness, [...said]);
  return set.filter(({ witness, said }) => {
    const before = seen.get(witness);
    if (!before) return seen.set(witness, [said]);
    const text = JSON.stringify(said);
    if (before.some((one) => JSON.stringify(one) === text)) return false;
    before.push(said);
    return true;
  });
}

const COLUMNS = ["witness", "call_id", "is_apart", "response_id", "request_id", "fingerprint", "day", "said"];
const KEEP = `INSERT INTO sightings (${COLUMNS.join(", ")})
SELECT ${COLUMNS.map((column) => `v.${column}`).join(", ")} FROM each_row v WHERE true
ON CONFLICT (witness) DO UPDATE SET ${
  COLUMNS.slice(1).map((column) => `${column} = excluded.${column}`).join(", ")
}`;

function keepWitnesses(witnesses: readonly Witness[]): Statement[] {
  if (witnesses.length === 0) return [];
  const rows = witnesses.map(({ witness, callId, isApart, requestId, fingerprint, said }) => [
    witness,
    callId,
    isApart ? 1 : 0,
    isApart ? said.find(({ response }) => response !== undefined)?.response ?? null : null,
    requestId,
    fingerprint,
    Math.floor(said[0]!.at / DAY_MS),
    JSON.stringify(said),
  ]);
  return [{ sql: KEEP, each: { columns: COLUMNS, integers: ["is_apart", "day"], rows } }];
}

const KEEP_TAGS = `INSERT INTO call_tags (call_id, tags) SELECT v.call_id, v.tags FROM each_row v WHERE true
ON CONFLICT (call_id) DO UPDATE SET tags = excluded.tags`;

function keepTags(settled: readonly Settled[]): Statement[] {
  const rows = settled.flatMap(({ callId, tags }) => (tags ? [[callId, tagsText(tags)]] : []));
  return rows.length === 0 ? [] : [{ sql: KEEP_TAGS, each: { columns: ["call_id", "tags"], rows } }];
}

const COUNT: Statement = {
  sql: `INSERT INTO tallies (what, name, outcome, count) VALUES ('sightings', '', '', 1)
ON CONFLICT (what, name, outcome) DO UPDATE SET count = tallies.count + 1`,
};
