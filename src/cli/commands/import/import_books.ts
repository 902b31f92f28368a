import type { Connection } from "../../../client/mod.ts";
import type { Environment } from "../../../config/mod.ts";
import type { Sighting } from "../../../calls/mod.ts";
import { PAGE_SIZES } from "../../../contract/limits.ts";
import type { ImportFile } from "../../../contract/imports/import_files.ts";
import type { SightingBody, SightingsBody, SightingsResult } from "../../../contract/costs/sightings.ts";
import type { BookedSightings, ImportBooks, KnownFile } from "../../../ingest/import/mod.ts";
import { PurserError } from "../../../kernel/errors.ts";
import { toIso } from "../../../kernel/clock.ts";
import { parseTotalUsd } from "../../../kernel/money.ts";
import type { BookingCore } from "../../../service/booking/mod.ts";
import { windowToWire } from "../../../plans/sources/mod.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { nextCursor } from "../../render/print_answer.ts";
import { readPlanAccount } from "./read_plan_account.ts";

/** The importer whose logs are imported, and the machine that has them. */
interface ImportOrigin {
  machine: string;
  importer: string;
  /** The environment of its agent; without it, the account of the agent's plan isn't read. */
  env?: Environment;
}

/** Reads how far the files of an import have been read, by path. Of a database in this process, without the API and its schemas. */
export async function readFileStates(
  { api, core }: Connection,
  { machine, importer }: ImportOrigin,
): Promise<Map<string, KnownFile>> {
  const states = new Map<string, KnownFile>();
  const add = (files: readonly ImportFile[]) => {
    for (const file of files) states.set(file.path, stateFromWire(file));
  };
  if (core) {
    const { listImportFiles } = await import("../../../ingest/import_files/mod.ts");
    const limit = PAGE_SIZES.importFiles.max;
    for (let page: ImportFile[] | undefined; page === undefined || page.length === limit;) {
      const after = page?.at(-1)?.path;
      add(page = await listImportFiles(core, { machine, importer }, { after, limit }));
    }
    return states;
  }
  let cursor: string | undefined;
  do {
    const answer = await api.imports.files.$get({ query: { machine, importer, cursor } });
    add(await answer.json());
    cursor = nextCursor(answer);
  } while (cursor !== undefined);
  return states;
}

/** Converts the state of a file from wire form. */
export function stateFromWire(file: ImportFile): KnownFile {
  return {
    path: file.path,
    size: file.size,
    modifiedAt: file.modified_at,
    readTo: file.read_to,
    head: file.head,
    isEnded: file.is_ended,
    state: file.state === null ? null : JSON.parse(file.state),
    unmetered: file.unmetered,
    malformed: file.malformed,
    fault: file.fault,
  };
}

/** The largest state of a reader that is stored; a file with a larger one is read whole whenever it has changed. */
const MAX_STATE = 65_536;

function stateToWire(
  { path, size, modifiedAt, readTo, head, isEnded, state, ...left }: KnownFile,
): ImportFile {
  const text = state == null ? null : JSON.stringify(state);
  const isTooLarge = text !== null && text.length > MAX_STATE;
  return {
    path,
    size,
    modified_at: modifiedAt,
    read_to: isTooLarge ? 0 : readTo,
    head: isTooLarge ? "" : head,
    is_ended: isEnded,
    state: isTooLarge ? null : text,
    ...left,
  };
}

/** The ledger of an import. `ended()` resolves once its background work is done. */
interface OpenBooks extends ImportBooks {
  ended(): Promise<void>;
}

/** Returns the ledger behind a connection, as an import sees it. Into a database in this process it books by itself. */
export function createImportBooks(
  connection: Connection,
  { machine, importer, env }: ImportOrigin,
): OpenBooks {
  let booking: Promise<BookingCore> | undefined;
  const origin: SightingsBody["origin"] = { source: "log", name: importer, machine, agent_id: importer };

  /** Books as the API does. Over a database in this process, JSON in between would be a fifth of the time of an import. */
  async function send(sightings: readonly Sighting[]): Promise<BookedSightings> {
    const { core } = connection;
    if (core) {
      const { sightCalls } = await import("../../../calls/mod.ts");
      booking ??= import("../../../service/booking/mod.ts").then(({ openBooking }) => openBooking(core));
      const { source, name, agent_id: agentId } = origin;
      const { costNanoUsd, planNanoUsd, reasons, ...numbers } = await sightCalls(
        await booking,
        { source, name, machine, agentId },
        sightings,
        // The state of the files is stored after them, by a commit that is flushed: what a power loss undoes is read again.
        { mayLose: true },
      );
      return { ...numbersOf(numbers), costNanoUsd, planNanoUsd, refused: [...reasons.values()] };
    }
    const body = JSON.stringify({ origin, sightings: sightings.map(sightingToWire) });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://purser.invalid/sightings", { method: "POST", headers, body });
    const { cost_usd, plan_usd = 0, reasons, ...numbers }: SightingsResult =
      await (await fetchStream(connection, request)).json();
    return {
      ...numbersOf(numbers),
      costNanoUsd: parseTotalUsd(cost_usd ?? 0),
      planNanoUsd: parseTotalUsd(plan_usd),
      refused: reasons.map(({ reason }) => reason),
    };
  }

  return {
    async book(sightings) {
      try {
        return await send(sightings);
      } catch (error) {
        // The API takes no request with a sighting that is out of its form: the others are sent without it.
        const bad = badSightings(error);
        if (bad.size === 0) throw error;
        const rest = sightings.filter((_, index) => !bad.has(index));
        const { refused, ...booked } = rest.length === 0 ? NOTHING : await this.book(rest);
        return { ...booked, refused: [...bad.values(), ...refused] };
      }
    },
    async recordPlan(windows) {
      const json = {
        agent_id: importer,
        source: "log" as const,
        machine,
        account: env && await readPlanAccount(importer, env),
        windows: windows.map(windowToWire),
      };
      await connection.api.plans.$post({ json });
    },
    async save(states) {
      const files = states.map(stateToWire);
      if (connection.core) {
        const { saveImportFiles } = await import("../../../ingest/import_files/mod.ts");
        await saveImportFiles(connection.core, { machine, importer }, files);
      } else await connection.api.imports.files.$put({ json: { machine, importer, files } });
    },
    ended: async () => await (await booking)?.ended(),
  };
}

type Numbers = Pick<
  SightingsResult,
  "booked" | "duplicates" | "amended" | "enriched" | "conflicts" | "unpriced"
>;

const numbersOf = ({ booked, duplicates, amended, enriched, conflicts, unpriced }: Numbers) => ({
  booked,
  known: duplicates + amended + enriched,
  amended,
  conflicts,
  unpriced,
});

const NOTHING: BookedSightings = {
  booked: 0,
  known: 0,
  amended: 0,
  conflicts: 0,
  unpriced: 0,
  costNanoUsd: 0n,
  planNanoUsd: 0n,
  refused: [],
};

/** Returns what is wrong with sightings, by their index in the request that was refused for it. */
function badSightings(error: unknown): Map<number, string> {
  const bad = new Map<number, string>();
  if (!(error instanceof PurserError) || error.code !== "invalid") return bad;
  for (const { path, message } of (error.details?.issues ?? []) as { path: string; message: string }[]) {
    const [, index, field] = /^sightings\[(\d+)\]\.?(.*)$/.exec(path) ?? [];
    if (index !== undefined) bad.set(Number(index), `${field}: ${message}`);
  }
  return bad;
}

/** Converts a sighting to wire form. */
export function sightingToWire(sighting: Sighting): SightingBody {
  const { usage, subagent } = sighting;
  return {
    ref: sighting.ref,
    response_id: sighting.responseId,
    request_id: sighting.requestId,
    account: sighting.account,
    fingerprint: sighting.fingerprint,
    provider: sighting.provider,
    model: sighting.model,
    at: toIso(sighting.at),
    duration_ms: sighting.durationMs,
    ...countsToWire(usage),
    other_counts: usage.others,
    other_models: usage.models?.map(({ model, usage }) => ({ model, ...countsToWire(usage) })),
    quality: sighting.quality === "exact" ? undefined : sighting.quality,
    marks: sighting.marks && [...sighting.marks],
    service_tier: sighting.serviceTier,
    speed: sighting.speed,
    inference_geo: sighting.inferenceGeo,
    tools: sighting.tools && [...sighting.tools],
    stated_cost_usd: sighting.statedCostUsd,
    billing: sighting.isPlan ? "plan" : undefined,
    session: sighting.session,
    is_copy: sighting.isCopy,
    is_found_by_counts: sighting.isFoundByCounts,
    subagent: subagent && { id: subagent.id, parent: subagent.parent, type: subagent.type },
    folder: sighting.folder,
    branch: sighting.branch,
    tags: sighting.tags,
  };
}

const countsToWire = ({ details, ...usage }: Sighting["usage"]) => ({
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  cache_read_tokens: usage.cacheReadTokens || undefined,
  cache_write_tokens: usage.cacheWriteTokens || undefined,
  cache_write_1h_tokens: usage.cacheWrite1hTokens || undefined,
  reasoning_tokens: usage.reasoningTokens || undefined,
  ...details,
});
