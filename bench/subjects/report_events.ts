/** Reports over a socket on loopback, and a bare bulk insert of the same calls. */
import type { Library, Subject } from "../subject.ts";
import { openBare, pathFor, type Storage } from "./bare_database.ts";
import { createLedgerTable, type ReportedEvent, rowOf } from "./ledger_table.ts";

interface Options {
  storage: Storage;
  /** Calls a request. */
  batch: number;
  /** The number of repetitions of each task: the requests are prepared beforehand. */
  requests: number;
}

export async function open(
  { openPurser }: Library,
  { storage, batch, requests }: Options,
): Promise<Subject> {
  const directory = await Deno.makeTempDir({ prefix: "purser-bench-" });
  const db = pathFor(storage, directory, "bench");
  const purser = await openPurser({ db, durability: storage === "normal" ? "normal" : "full", env: {} });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => purser.app.fetch(request),
  );
  const url = `http://127.0.0.1:${server.addr.port}/costs/events`;
  const floor = openBare(pathFor(storage, directory, "floor"), storage);
  const insert = createLedgerTable(floor);

  const post = (bodies: string[]) => async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: bodies.pop()!,
    });
    if (response.status !== 201) throw new Error(await response.text());
    await response.body?.cancel();
  };
  // Taken from the end: the first request is the last of the list.
  const makeAll = <T>(make: (request: number) => T) =>
    Array.from({ length: requests }, (_, n) => make(requests - 1 - n));
  const eventsOf = (kind: "loose" | "sessions", request: number) =>
    Array.from({ length: batch }, (_, n) => eventOf(kind, request, n));
  const rows = {
    loose: makeAll((request) => eventsOf("loose", request).map(rowOf)),
    sessions: makeAll((request) => eventsOf("sessions", request).map(rowOf)),
  };
  return {
    tasks: {
      loose: post(makeAll((request) => JSON.stringify(eventsOf("loose", request)))),
      sessions: post(makeAll((request) => JSON.stringify(eventsOf("sessions", request)))),
      bareLoose: () => insert(rows.loose.pop()!),
      bareSessions: () => insert(rows.sessions.pop()!),
    },
    async close() {
      await server.shutdown();
      floor.close();
      await purser.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

const START = Date.now() - 7_200_000;

/** Calls are reported as they are made: each request is of the time after the one before. */
function timeOf(request: number, n: number): string {
  return new Date(START + request * 50_000 + n * 50).toISOString();
}

function eventOf(kind: "loose" | "sessions", request: number, n: number): ReportedEvent {
  return {
    call_id: `${kind}-${request}-${n}`,
    at: timeOf(request, n),
    agent_id: `agent-${n % 20}`,
    provider: "openai",
    model: n % 2 ? "gpt-4o-mini" : "gpt-4o",
    input_tokens: 1_000 + n,
    output_tokens: 100,
    cache_read_tokens: 500,
    ...(kind === "sessions" && {
      session_id: `session-${n % 50}`,
      run_id: `run-${n % 100}`,
      step: Math.floor(n / 100),
    }),
  };
}
