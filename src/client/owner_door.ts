import type { Core } from "../core.ts";
import { systemClock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { type Answering, behindGuard, listen, type Listening, tokenGuard } from "../http/mod.ts";
import {
  ANNOUNCED_HEADER,
  announcementOf,
  LEFT_HEADER,
  newOwnerToken,
  type Owner,
  PROOF_PATH,
  proofOf,
  removeOwner,
  writeOwner,
} from "./owner_file.ts";

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
  /** Resolves when nothing is in flight; at once where the signal has aborted. */
  untilNone(signal?: AbortSignal): Promise<void>;
  /**
   * Takes the file away, and waits until all that was announced has come; afterwards `count` tells what did. Where that
   * is nothing, whoever comes later is sent away, to open the file himself.
   */
  retire(): Promise<void>;
  /** Puts the file back: what has come may take long. */
  advertise(): Promise<void>;
  /** Retires, lets streams end, and serves what is in flight to its end. */
  close(): Promise<void>;
}

/** How long a request that was announced is waited for; who announces sends at once. */
const ANNOUNCED_MS = 1_000;
const ANNOUNCED_LOOK_MS = 5;

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
      tellOfShut(error);
    }
  }

  async function retire(): Promise<void> {
    closing.abort();
    await opening?.catch(() => {}); // whoever opened it was told
    if (owner) await removeOwner(databasePath, owner);
    await requests.untilNoneAnnounced();
    // In the same turn as the last look: from here on nobody is told that there is an owner.
    if (requests.count() === 0) requests.leave();
  }

  async function advertise(): Promise<void> {
    try {
      if (owner) await writeOwner(databasePath, owner);
    } catch (error) {
      tellOfShut(error);
    }
  }

  function tellOfShut(error: unknown): void {
    core.log.warn("Other commands can't come in until this one has ended", { reason: messageOf(error) });
  }

  return {
    open: () => opening ??= open(),
    openLater: (afterMs) => void (opening ??= openAfter(afterMs)),
    hurry: () => hurried.abort(),
    count: requests.count,
    untilNone: requests.untilNone,
    retire,
    advertise,
    async close() {
      await retire();
      requests.leave();
      core.stop();
      await server?.shutdown();
    },
  };
}

/** The app behind a count of what is in flight; it proves to whoever asks that it knows the owner's token. */
function countRequests(app: Answering, token: string) {
  let count = 0;
  let waiting: (() => void)[] = [];
  /** Until when each request that was announced is waited for. */
  const announced = new Map<string, number>();
  let hasLeft = false;
  return {
    count: () => count,
    leave: () => void (hasLeft = true),
    async untilNoneAnnounced(): Promise<void> {
      for (;;) {
        const now = systemClock.monotonic();
        for (const [nonce, until] of announced) if (until <= now) announced.delete(nonce);
        if (announced.size === 0) return;
        await systemClock.sleep(ANNOUNCED_LOOK_MS);
      }
    },
    async untilNone(signal?: AbortSignal): Promise<void> {
      if (count > 0 && !signal?.aborted) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async fetch(request: Request): Promise<Response> {
      const { pathname, searchParams } = new URL(request.url);
      if (hasLeft) return new Response(null, { status: 503, headers: { [LEFT_HEADER]: "1" } });
      if (pathname === PROOF_PATH) {
        const nonce = searchParams.get("nonce") ?? "";
        if (searchParams.get("announcement") === announcementOf(token, nonce)) {
          announced.set(nonce, systemClock.monotonic() + ANNOUNCED_MS);
        }
        return new Response(proofOf(token, nonce));
      }
      if (pathname === "/events") return await app.fetch(request); // it ends when the core stops, not before
      count++;
      announced.delete(request.headers.get(ANNOUNCED_HEADER) ?? "");
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
