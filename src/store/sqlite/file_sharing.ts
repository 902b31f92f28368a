import { systemCodeOf } from "../../kernel/system_errors.ts";
import { files } from "../../kernel/files.ts";
import type { Clock } from "../../kernel/clock.ts";

/** The first SQLite in which two connections can't lose a write while the WAL is reset (https://sqlite.org/wal.html). */
const FIRST_SAFE = [3, 51, 3] as const;

/** Linux's names of file systems that other hosts may mount too. */
const NETWORK =
  /^(nfs\d*|cifs|smb\d*|smbfs|ncpfs|9p|afs|ceph|coda|lustre|gfs2|ocfs2|glusterfs|fuse\.(glusterfs|sshfs|nfs))$/;

/** Returns the type of the file system of a file, such as `ext4`; undefined where it is unknown. */
export type FileSystemOf = (file: { path: string; device: number }) => string | undefined;

/** Loads the mounts of this process, which determine the file system of a file; only Linux lists them in a file. */
export async function loadFileSystemOf(read = files.readText): Promise<FileSystemOf> {
  try {
    const mounts = await read("/proc/self/mountinfo");
    return ({ device }) => findFileSystem(mounts, device);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return () => undefined;
    // Deno allows reading it only with all permissions.
    return ({ path, device }) => isOnBlockDevice(device) ? undefined : askFileSystem(path);
  }
}

/** Returns whether a file system is on a block device of this machine: all others have the major number 0. */
function isOnBlockDevice(device: number): boolean {
  return majorOf(device) !== 0n;
}

/** The numbers of network file systems (statfs(2)). Those over FUSE can't be distinguished from other FUSE ones. */
const NETWORK_NUMBERS: Readonly<Record<number, string>> = {
  0x6969: "nfs",
  0xff534d42: "cifs",
  0xfe534d42: "smb3",
  0x517b: "smb",
  0x564c: "ncpfs",
  0x01021997: "9p",
  0x5346414f: "afs",
  0x00c36400: "ceph",
  0x73757245: "coda",
  0x0bd00bd0: "lustre",
  0x01161970: "gfs2",
  0x7461636f: "ocfs2",
};

/** Queries the system. Only a fallback: in Deno it takes longer to load than a short command runs. */
function askFileSystem(path: string): string | undefined {
  try {
    const { type } = globalThis.process.getBuiltinModule("node:fs").statfsSync(path);
    return NETWORK_NUMBERS[type >>> 0];
  } catch {
    return undefined;
  }
}

/** Finds the type of a device's file system in the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). */
export function findFileSystem(mounts: string, device: number): string | undefined {
  const number = BigInt(device);
  const minor = (number & 0xffn) | (number >> 12n & 0xffffff00n);
  const line = mounts.split("\n").find((each) => each.split(" ")[2] === `${majorOf(device)}:${minor}`);
  return line?.split(" - ")[1]?.split(" ")[0];
}

function majorOf(device: number): bigint {
  const number = BigInt(device);
  return (number >> 8n & 0xfffn) | (number >> 32n & 0xfffff000n);
}

/** Returns the reason why only one process at a time may use a file; undefined where any number may. */
export function whyExclusive(
  { version, fileSystem }: { version: string; fileSystem: string | undefined },
): string | undefined {
  if (fileSystem !== undefined && NETWORK.test(fileSystem)) {
    return `it is on a network file system (${fileSystem}), where only one process at a time can use it; move it to a local disk, or use a libSQL server`;
  }
  if (isOlder(version)) {
    return `with SQLite ${version}, which this runtime has built in, only one process at a time can use it; ${
      FIRST_SAFE.join(".")
    } or newer is needed to share it (Deno 2.9, Node 22.23 or 24.15)`;
  }
}

function isOlder(version: string): boolean {
  const parts = version.split(".").map(Number);
  for (const [i, part] of FIRST_SAFE.entries()) {
    if (parts[i] !== part) return (parts[i] ?? 0) < part;
  }
  return false;
}

/** The options of `retryWhileBusy`. */
export interface BusyRetry {
  clock: Pick<Clock, "monotonic" | "sleep">;
  /** A number from 0 up to 1, as `Math.random`. */
  random: () => number;
  timeoutMs: number;
}

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 20;

/** Returns the pause before the given retry (0 for the first): random, so that processes don't retry in step. */
export function busyPauseMs(retry: number, random: () => number): number {
  const longestMs = Math.min(FIRST_PAUSE_MS * 2 ** retry, LONGEST_PAUSE_MS);
  return Math.max(FIRST_PAUSE_MS, random() * longestMs);
}

/**
 * Retries `attempt`, with pauses that leave the event loop free, until it returns or throws an error that `isBusy` does
 * not accept. After the deadline the last error is thrown.
 */
export async function retryWhileBusy<T>(
  attempt: () => T,
  isBusy: (error: unknown) => boolean,
  { clock, random, timeoutMs }: BusyRetry,
): Promise<T> {
  const deadline = clock.monotonic() + timeoutMs;
  for (let retry = 0;; retry++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || clock.monotonic() >= deadline) throw error;
    }
    await clock.sleep(busyPauseMs(retry, random));
  }
}

/** A gap between commits in which another process can take the write lock; waiting ones retry at least every 20 ms. */
const PAUSE_MS = 3;

/** The longest run of commits without a pause, while others write. */
const LONGEST_RUN_MS = 20;

/** The time after another process has written during which others count as writing. */
const OTHERS_WRITE_MS = 1_000;

/** The options of `WriterPause`. */
export interface WriterPauseOptions {
  clock: { monotonic(): number; sleep(ms: number): Promise<void> };
  /** Changes when another connection has written: `PRAGMA data_version`. */
  readVersion(): unknown;
}

/**
 * Lets other processes write while this one commits continuously: every 20 ms, if others have written recently. A process
 * that is alone loses nothing; another that starts to write gets its turn between two commits, a little later.
 */
export class WriterPause {
  #begunAt = -Infinity;
  #endedAt = -Infinity;
  #version: unknown;
  #othersWroteAt = -Infinity;

  constructor(private readonly options: WriterPauseOptions) {}

  /** Called at the end of each commit. */
  commitEnded(): void {
    this.#endedAt = this.options.clock.monotonic();
  }

  /** Called between two commits that follow each other at once. */
  between(): Promise<void> | undefined {
    const { clock, readVersion } = this.options;
    const now = clock.monotonic();
    if (now - this.#endedAt >= PAUSE_MS) this.#begunAt = now; // a gap of its own
    if (now - this.#begunAt < LONGEST_RUN_MS) return undefined;
    this.#begunAt = now;
    const version = readVersion();
    if (this.#version !== undefined && version !== this.#version) this.#othersWroteAt = now;
    this.#version = version;
    return now - this.#othersWroteAt < OTHERS_WRITE_MS ? clock.sleep(PAUSE_MS) : undefined;
  }
}
