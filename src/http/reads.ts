import type { Context, MiddlewareHandler } from "hono";
import type { Core } from "../core.ts";
import { principalOf } from "./principal.ts";
import { createQuery, MAX_LAG_MS, type Store } from "../store/mod.ts";

/** What a list is read through: the core, or the core with a replica to read from. */
export type Reads = (c: Context) => Core;

/** Past so many, clients that wrote longer ago than matters are forgotten. */
const MANY_CLIENTS = 1_000;

/**
 * Who may read from a replica, where one is set.
 *
 * The routes that do are those that take `Reads`: `GET /costs`, the lists of sessions, a session's events and costs,
 * `/alerts/history` and `/anomalies`. They are long, looked at by people and polled by pages, and a moment late is as
 * good. Whatever decides or is asked for by its id (agents, rules, one session, one run, a snapshot, `/readyz`,
 * `/doctor`) is read from the primary, which is also where every run, booking, budget, alert and delivery reads.
 *
 * A client that has written is answered by the primary for as long as the replica may be late. Clients are told apart
 * by their key; those without one count as one.
 */
export function createReads(core: Core): { reads: Reads; noteWrites?: MiddlewareHandler } {
  if (core.store.replica === undefined) return { reads: () => core };
  const late = lateCore(core);
  const { clock } = core;
  const wroteAt = new Map<string, number>();
  const clientOf = (c: Context) => principalOf(c)?.keyId ?? "";
  const note = (c: Context) => {
    const now = clock.monotonic();
    wroteAt.set(clientOf(c), now);
    if (wroteAt.size <= MANY_CLIENTS) return;
    for (const [client, at] of wroteAt) if (now - at > MAX_LAG_MS) wroteAt.delete(client);
  };
  return {
    reads(c) {
      const at = wroteAt.get(clientOf(c));
      return at !== undefined && clock.monotonic() - at <= MAX_LAG_MS ? core : late;
    },
    async noteWrites(c, next) {
      if (c.req.method === "GET" || c.req.method === "HEAD") return await next();
      note(c);
      try {
        await next();
      } finally {
        note(c);
      }
      // A run that is streamed goes on writing after its answer has begun.
      if (c.res.headers.get("content-type")?.startsWith("text/event-stream")) {
        c.res = new Response(c.res.body && endingWith(c.res.body, () => note(c)), c.res);
      }
    },
  };
}

/** The core, its reads late. */
function lateCore(core: Core): Core {
  const { store } = core;
  const lateStore: Store = {
    writeInSet: (writer, item) => store.writeInSet(writer, item),
    kind: store.kind,
    isShared: store.isShared,
    instances: store.instances,
    replica: store.replica,
    read: async (statement) => (await store.readStale([statement]))[0]!,
    readAll: (statements) => store.readStale(statements),
    readStale: (statements) => store.readStale(statements),
    write: (statements) => store.write(statements),
    get waitingWrites() {
      return store.waitingWrites;
    },
    freeBytes: () => store.freeBytes(),
    close: () => store.close(),
  };
  return { ...core, store: lateStore, query: createQuery(lateStore) };
}

function endingWith(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
}
