import { type Environment, parseDatabaseUrl } from "../config.ts";
import { type Core, type CoreOptions, openCore } from "../core.ts";
import { type Answering, behindGuard, createLateApp, listen, tokenGuard } from "../http/mod.ts";
import type { Log } from "../log.ts";
import { newOwnerToken, PROOF_PATH, proofOf, removeOwner, writeOwner } from "./owner_file.ts";

/** What opening a database from an entry needs. */
export interface OwnOptions extends CoreOptions {
  env: Environment;
  log: Log;
  /** Tells the person at the terminal something, on stderr. */
  say: (line: string) => void;
}

/** A database that this process works on itself. */
export interface OwnedDatabase {
  core: Core;
  app: Answering;
  /**
   * Answers others until nothing of theirs is in flight, says so where there is something, and closes. With
   * `graceMs`, nothing new is taken, and runs that take longer are cancelled.
   */
  close(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Opens the database. The owner of a local file answers on loopback for as long, so that commands started
 * beside it go through it; a file beside the database tells them where.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function ownDatabase({ say, ...options }: OwnOptions): Promise<OwnedDatabase> {
  const address = parseDatabaseUrl(options.config.dbUrl);
  const core = await openCore(options);
  const app = createLateApp(core);
  if (address.kind !== "file") return { core, app, close: (closing) => core.close(closing) };

  const token = newOwnerToken();
  const requests = countRequests(app, token);
  const isProof = (request: Request) => new URL(request.url).pathname === PROOF_PATH;
  const checkToken = tokenGuard(token);
  let isOpen = true;
  try {
    const handle = behindGuard(
      core,
      (request) => isProof(request) || checkToken(request),
      (request) => requests.fetch(request),
    );
    const server = await listen(core, handle, { host: "127.0.0.1", port: 0 });
    const owner = { pid: globalThis.process.pid, url: server.url, token };
    await writeOwner(address.path, owner);
    return {
      core,
      app,
      async close(closing = {}) {
        if (!isOpen) return;
        isOpen = false;
        const waiting = Math.max(requests.count(), core.liveRuns.size);
        if (waiting > 0) {
          say(`Waiting for ${waiting} ${waiting === 1 ? "request" : "requests"} of other commands to end`);
        }
        if (closing.graceMs !== undefined) core.stop();
        const isPatient = closing.graceMs === undefined;
        // Answered until then: whoever comes meanwhile could not open the file.
        do {
          await core.endRuns(closing);
          await requests.untilNone(isPatient ? undefined : core.stopping);
          await core.drainDeliveries(); // a receiver may be slow; nobody else has to wait for it
        } while (core.liveRuns.size > 0 || (isPatient && requests.count() > 0));
        await removeOwner(address.path, owner);
        core.stop();
        await server.shutdown();
        await core.close(closing);
      },
    };
  } catch (error) {
    await core.close();
    throw error;
  }
}

/**
 * Opens the database for a short look: others are not answered, so that nothing of theirs hangs on this process, and
 * nothing waiting is worked off, so that it may end at any moment.
 *
 * @throws {StoreBusyError} another process owns the file
 */
export async function glanceAtDatabase({ say: _, ...options }: OwnOptions): Promise<OwnedDatabase> {
  const core = await openCore({ ...options, isGlance: true });
  return { core, app: createLateApp(core), close: () => core.close() };
}

/** The app behind a count of what is in flight; it proves to whoever asks that it knows the owner's token. */
function countRequests(app: Answering, token: string) {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    count: () => count,
    /** Resolves when nothing is in flight, or once the signal has aborted. */
    async untilNone(signal?: AbortSignal): Promise<void> {
      if (count > 0 && !signal?.aborted) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async fetch(request: Request): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === PROOF_PATH) return new Response(proofOf(token, searchParams.get("nonce") ?? ""));
      if (pathname === "/events") return await app.fetch(request); // it ends when the core stops, not before
      count++;
      try {
        return await app.fetch(request);
      } finally {
        if (--count === 0) {
          for (const resume of waiting) resume();
          waiting = [];
        }
      }
    },
  };
}
