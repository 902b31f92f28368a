import { and, inArray, ne, type SQL, sql } from "drizzle-orm";
import type { WitnessOfCall } from "../../contract/costs/explained_calls.ts";
import { toIso } from "../../kernel/clock.ts";
import { type Query, tables } from "../../store/mod.ts";
import { toModelCall } from "../calls.ts";
import type { ModelCall } from "../model_call.ts";
import type { Viewer } from "../scopes/mod.ts";
import { type Said, saidInRow } from "./said.ts";

const { calls, sightings } = tables;

/** The lengths of what comes before and after the name of a witness in the id of the call that was booked from it. */
export const AROUND_WITNESS = { before: 8, after: 8 } as const;

/** Returns the witness from which a call with such an id was booked: `source:name:ref`. */
export const witnessOfCall = (source: string, callId: string): string =>
  `${source}:${source === "report" ? callId : callId.slice(AROUND_WITNESS.before, -AROUND_WITNESS.after)}`;

const among = (ids: readonly string[]): SQL => sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`;

/** Returns the id of the call that stands where a call was taken back for it; else its own. */
export async function findStanding(query: Query, callId: string): Promise<string> {
  for (let standing = callId;;) {
    const [entry] = await query.select({ stands: calls.stands }).from(calls)
      .where(and(inArray(calls.adjusts, among([standing])), ne(calls.stands, calls.adjusts)));
    if (!entry) return standing;
    standing = entry.stands!;
  }
}

/** Returns the witnesses of which only the rows of calls tell, by what they were booked from. */
export function* witnessesInRows(rows: readonly ModelCall[], isKept: (witness: string) => boolean) {
  for (const call of rows) {
    const said = saidInRow(call);
    const witness = witnessOfCall(call.source ?? "", call.callId);
    if (said && !isKept(witness)) yield { witness, call, said };
  }
}

/** Reads what witnesses have said of a call that stands, as far as a viewer may see it, and the calls that were taken back for it. */
export async function readWitnesses(
  query: Query,
  callId: string,
  viewer: Viewer,
): Promise<{ witnesses: WitnessOfCall[]; replaced: (typeof calls.$inferSelect)[] }> {
  const rows: (typeof calls.$inferSelect)[] = [];
  for (let above = [callId]; above.length > 0;) {
    const ids = query.select({ adjusts: calls.adjusts }).from(calls)
      .where(and(inArray(calls.stands, among(above)), ne(calls.stands, calls.adjusts)));
    const below = await query.select().from(calls).where(inArray(calls.callId, ids));
    rows.push(...below);
    above = below.map((row) => row.callId);
  }
  const [own] = await query.select().from(calls).where(inArray(calls.callId, among([callId])));
  const all = own ? [own, ...rows] : rows;
  const [booked, apart] = await Promise.all([
    query.select().from(sightings)
      .where(
        inArray(sightings.witness, among(all.map((row) => witnessOfCall(row.source ?? "", row.callId)))),
      ),
    query.select().from(sightings)
      .where(
        and(sql`${sightings.isApart} = 1`, inArray(sightings.callId, among(all.map((row) => row.callId)))),
      ),
  ]);
  const kept: { witness: string; statements: Said[] }[] = [...booked, ...apart].map(({ witness, said }) => ({
    witness,
    statements: JSON.parse(said),
  }));
  const inRows = witnessesInRows(
    all.map(toModelCall),
    (name) => booked.some(({ witness }) => witness === name),
  );
  for (const { witness, said } of inRows) kept.push({ witness, statements: [said] });
  const witnesses = kept.map(({ witness, statements }) => {
    const seen = statements.filter(({ agent }) => viewer.sees({ agentId: agent }));
    return { witness, said: seen.map(toWire) };
  }).filter(({ said }) => said.length > 0);
  return {
    witnesses: witnesses.sort((a, b) => (a.witness < b.witness ? -1 : 1)),
    replaced: rows.filter(({ agentId }) => viewer.sees({ agentId })),
  };
}

function toWire({ counts, ...said }: Said): WitnessOfCall["said"][number] {
  const [input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning] = counts;
  return {
    at: toIso(said.at),
    agent_id: said.agent,
    session_id: said.session ?? null,
    provider: said.provider ?? null,
    model: said.model ?? null,
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_1h_tokens: cacheWrite1h,
    reasoning_tokens: reasoning,
    quality: said.quality ?? "exact",
    is_copy: said.copy ?? false,
    ...(said.plan && { billing: "plan" }),
    tags: { ...said.tags, ...said.keyTags },
  };
}
