import type { Core } from "../core.ts";
import { messageOf } from "../errors.ts";
import { type Answering, behindGuard, listen, type Listening, tokenGuard } from "../http/mod.ts";
import { newOwnerToken, type Owner, PROOF_PATH, proofOf, removeOwner, writeOwner } from "./owner_file.ts";

/** Where other commands come in while this process owns a database file. */
export interface OwnerDoor {
  /** Listens on loopback, and tells where in a file beside the database. */
  open(): Promise<void>;
  /** The same in a while, unless it is closed by then; what goes wrong is told in the log. */
  openLater(afterMs: number): void;
  /** What was to be opened later is opened now. */
  hurry(): void;
  /** How many requests are in flight. */
  count(): number;
  /** Resolves when nothing is in flight, or once the signal has aborted. */
  untilNone(signal?: AbortSignal): Promise<void>;
  /** Takes the file away, lets streams end, and serves what is in flight to its end. */
  close(): Promise<void>;
}

/** Makes the door of the owner of a file; it is closed. */
export function createOwnerDoor(core: Core, app: Answering, databasePath: string): OwnerDoor {
  const token = newOwnerToken();
  const requests = countRequests(app, token);
  const closing = new AbortController();
  const hurried = new AbortController();
  let server: Listening | undefined;
  let owner: Owner | undefined;
  let opening: Promise<void> | undefined;

  async function open(): Promise<void> {
    const isProof = (request: Request) => new URL(request.url).pathname === PROOF_PATH;
    const checkToken = tokenGuard(token);
    const handle = behindGuard(
      core,
      (request) => isProof(request) || checkToken(request),
      (request) => requests.fetch(request),
    );
    server = await listen(core, handle, { host: "127.0.0.1", port: 0 });
    const mine = { pid: globalThis.process.pid, url: server.url, token };
    await writeOwner(databasePath, mine);
    owner = mine;
  }

  async function openAfter(afterMs: number): Promise<void> {
    await core.clock.sleep(afterMs, AbortSignal.any([closing.signal, hurried.signal]));
    if (closing.signal.aborted) return;
    try {
      await open();
    } catch (error) {
      core.log.warn("Other commands can't come in until this one has ended", { reason: messageOf(error) });
    }
  }

  return {
    open: () => opening ??= open(),
    openLater: (afterMs) => void (opening ??= openAfter(afterMs)),
    hurry: () => hurried.abort(),
    count: requests.count,
    untilNone: requests.untilNone,
    async close() {
      closing.abort();
      await opening?.catch(() => {}); // whoever opened it was told
      if (owner) await removeOwner(databasePath, owner);
      core.stop();
      await server?.shutdown();
    },
  };
}

/** The app behind a count of what is in flight; it proves to whoever asks that it knows the owner's token. */
function countRequests(app: Answering, token: string) {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    count: () => count,
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
