import { systemCodeOf } from "../../kernel/errors.ts";
import { files } from "../../kernel/files.ts";

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
