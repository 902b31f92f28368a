import type { Connection } from "../../../client/mod.ts";
import type { Sighting } from "../../../calls/mod.ts";
import type { ImportFile } from "../../../contract/import_files.ts";
import type { FileState, ImportBooks } from "../../../ingest/import/mod.ts";
import { fetchStream } from "../../fetch_stream.ts";
import { nextCursor } from "../../render/print_answer.ts";

/** The importer whose logs are imported, and the machine that has them. */
interface ImportOrigin {
  machine: string;
  importer: string;
}

/** Reads how far the files of an import have been read, by path. */
export async function readFileStates(
  { api }: Connection,
  { machine, importer }: ImportOrigin,
): Promise<Map<string, FileState>> {
  const states = new Map<string, FileState>();
  let cursor: string | undefined;
  do {
    const answer = await api.imports.files.$get({ query: { machine, importer, cursor } });
    for (const file of await answer.json()) {
      states.set(file.path, {
        path: file.path,
        size: file.size,
        modifiedAt: file.modified_at,
        readTo: file.read_to,
        head: file.head,
        isEnded: file.is_ended,
        state: file.state === null ? null : JSON.parse(file.state),
      });
    }
    cursor = nextCursor(answer);
  } while (cursor !== undefined);
  return states;
}

/** The largest state of a reader that is stored; a file with a larger one is read whole whenever it has changed. */
const MAX_STATE = 65_536;

function toWire({ path, size, modifiedAt, readTo, head, isEnded, state }: FileState): ImportFile {
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
  };
}

/** Returns the ledger behind a connection, as an import sees it. */
export function createImportBooks(
  connection: Connection,
  { machine, importer, holes }: ImportOrigin & { holes: readonly string[] },
): ImportBooks {
  return {
    async book(sightings, { unmetered, malformed }) {
      const body = JSON.stringify({
        origin: { source: "log", name: importer, machine, holes },
        sightings: sightings.map(sightingToWire),
        unmetered,
        malformed,
      });
      const headers = { "content-type": "application/json" };
      const request = new Request("http://purser.invalid/sightings", { method: "POST", headers, body });
      const answer = await (await fetchStream(connection, request)).json();
      return {
        booked: answer.booked,
        known: answer.duplicates + answer.amended + answer.enriched,
        amended: answer.amended,
        unpriced: answer.unpriced,
        costNanoUsd: 0n,
        refused: answer.refused ?? [],
      };
    },
    async save(states) {
      await connection.api.imports.files.$put({ json: { machine, importer, files: states.map(toWire) } });
    },
  };
}

function sightingToWire(sighting: Sighting): unknown {
  return sighting;
}
