import { basename, join } from "node:path";
import type { DatabaseAddress } from "../../kernel/database_url.ts";
import { sha256Hex } from "../../kernel/encoding.ts";
import { files } from "../../kernel/files/files.ts";
import { messageOf } from "../../kernel/errors.ts";
import { systemReason } from "../../kernel/system_errors.ts";
import { createInstanceLocks, type InstanceLocks } from "../../store/mod.ts";
import type { SpoolFile } from "./spool_file.ts";
import { encodeSpooled, type SpooledCall } from "./spooled_call.ts";
import type { CallSpool, KeptCall, LeftSpool, SpoolOptions } from "./mod.ts";

const SUFFIX = ".spool";

/** The room that is kept ahead: for calls of their usual size that are in progress, and for some larger ones. */
const BYTES_PER_CALL = 2 * 1024;
const SPARE_BYTES = 64 * 1024;

const ATTEMPTS = 3;

/**
 * Returns the folder in which the processes of this machine spool the calls of a database. It is in `folder`, if one is set; else
 * beside the file of the database; else, for a server, there is none.
 */
export async function folderOf(
  database: DatabaseAddress,
  folder: string | undefined,
): Promise<string | undefined> {
  if (database.kind === "memory") return undefined;
  // Through all links, so that each process finds the same.
  const path = database.kind === "file" ? await files.realPath(database.path) : undefined;
  if (folder === undefined) return path && `${path}-spool`;
  const url = new URL(database.kind === "file" ? "file:" : database.url);
  const { host, hostname, pathname } = url;
  const schema = url.searchParams.get("schema");
  const server = host + pathname.replace(/\/$/, "") + (schema === null ? "" : `?schema=${schema}`);
  const hash = await sha256Hex(path ?? server);
  return join(folder, `${path ? basename(path) : hostname}-${hash.slice(0, 12)}`);
}

/**
 * Creates the spool of a process in a folder of its database: a file of its own, made with the first call, and locked for as
 * long as the process lives.
 */
export function createCallSpool(
  { folder, log, scrub, readLedger }: Omit<SpoolOptions, "database" | "folder"> & { folder: string },
): CallSpool {
  // Random, since processes that share the folder may have the same id otherwise.
  const id = `spool_${crypto.randomUUID().replaceAll("-", "")}`;
  const path = join(folder, `${id}${SUFFIX}`);
  let loadingLocks: Promise<InstanceLocks> | undefined;
  const locks = () => loadingLocks ??= createInstanceLocks(join(folder, "spool"));
  const lockOf = (other: string) => join(folder, `spool-instance-${other}`);
  const kept = new Set<KeptCall>();
  const unreadable = new Set<string>();
  let opening: Promise<SpoolFile> | undefined;
  let file: SpoolFile | undefined;
  let growing: Promise<void> | undefined;
  let ledger: Promise<string | null> | undefined;
  const stopping = new AbortController();

  function open(): Promise<SpoolFile> {
    return opening ??= create().then((created) => file = created).catch((error) => {
      opening = undefined; // it may be possible later
      throw error;
    });
  }

  async function create(): Promise<SpoolFile> {
    ledger ??= readLedger().catch(() => null);
    await takeLock();
    const { SpoolFile } = await import("./spool_file.ts");
    const created = await SpoolFile.create(path);
    await files.syncFolder(folder);
    return created;
  }

  /** Before the file is made: one without a lock is that of a dead process. */
  async function takeLock(): Promise<void> {
    for (let attempts = 1;; attempts++) {
      await files.makeFolder(folder);
      if (await (await locks()).hold(id)) return;
      await closeLocks();
      // Another process may have removed the folder, which was empty.
      if (attempts === ATTEMPTS) throw new Error("no lock can be made there");
    }
  }

  async function closeLocks(): Promise<void> {
    const closing = loadingLocks;
    loadingLocks = undefined;
    await (await closing)?.close();
  }

  const spool: CallSpool = {
    folder,
    isLedgerDown: false,
    isRetrying: false,
    logged: new Set(),
    stopping: stopping.signal,

    prepare(callsInProgress = 1) {
      const wanted = SPARE_BYTES + callsInProgress * BYTES_PER_CALL;
      if (growing || (file && file.freeBytes >= wanted)) return;
      growing = open().then((opened) => opened.reserve(wanted)).catch((error) => {
        log.warn("Calls that can't be booked can't be spooled either", {
          folder,
          reason: systemReason(error),
        });
      });
      // After a failure it is not tried again for every call.
      void growing.then(() => file && file.freeBytes >= wanted && (growing = undefined));
    },

    async write({ call, grant }) {
      const opened = await open();
      const spooled = { ledger: await ledger!, call, grant };
      const content = new TextEncoder().encode(scrub(encodeSpooled(spooled)));
      const position = await opened.append(content);
      const one: KeptCall = {
        ...spooled,
        isClaimed: false,
        async done() {
          kept.delete(one);
          await opened.markDone(position);
          if (kept.size === 0) await opened.clear();
        },
      };
      kept.add(one);
      return one;
    },

    kept: () => [...kept],

    async readLeft() {
      const names = await files.list(folder).catch((): string[] => []);
      const left: LeftSpool[] = [];
      for (const name of names) {
        if (!name.endsWith(SUFFIX) || name === basename(path)) continue;
        const other = name.slice(0, -SUFFIX.length);
        const isGone = await (await locks()).isGone(other) ||
          await files.stampOf(lockOf(other)) === undefined;
        if (isGone) left.push(...await readOne(name));
      }
      if (names.length > 0) await (await locks()).removeStale((other) => names.includes(other + SUFFIX));
      return left;
    },

    async close() {
      stopping.abort();
      await growing;
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
      if (opened && kept.size === 0) await files.remove(path).catch(() => {});
      await closeLocks();
      await files.removeEmptyFolder(folder).catch(() => {}); // others may use it, and it may not be there
    },
  };
  return spool;

  async function readOne(name: string): Promise<LeftSpool[]> {
    const source = join(folder, name);
    const calls: SpooledCall[] = [];
    let isDamaged: boolean;
    let isWhole = true;
    const [{ readRecords }, { decodeSpooled }] = await Promise.all([
      import("./spool_file.ts"),
      import("./decode_spooled.ts"),
    ]);
    try {
      const content = readRecords(await files.readBytes(source));
      isDamaged = content.isDamaged;
      for (const { content: record } of content.records) {
        try {
          calls.push(decodeSpooled(new TextDecoder().decode(record)));
        } catch (error) {
          isWhole = false;
          logOnce(source, "A spool has a call that this version can't read", error);
        }
      }
    } catch (error) {
      if (await files.stampOf(source) === undefined) return []; // another process has booked its calls
      logOnce(source, "A spool of calls can't be read", error);
      return [];
    }
    return [{
      file: source,
      calls,
      async remove() {
        if (!isWhole) return; // another version may read it
        if (isDamaged) await setAside(source);
        else await files.remove(source).catch(() => {}); // another process may have done so
        await (await locks()).removeStale((other) => other + SUFFIX !== name);
      },
    }];
  }

  /** Keeps a file that may have had more calls, for its operator. */
  async function setAside(source: string): Promise<void> {
    const aside = `${source}.damaged`;
    try {
      await files.rename(source, aside);
    } catch {
      return; // another process may have done so
    }
    log.error(
      "A spool of calls was damaged: what could be read is booked, other calls of it may be missing",
      {
        file: aside,
      },
    );
  }

  function logOnce(source: string, message: string, error: unknown): void {
    if (!unreadable.has(source)) log.error(message, { file: source, reason: messageOf(error) });
    unreadable.add(source);
  }
}
