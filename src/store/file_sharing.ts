import { files } from "../files.ts";

/** The first SQLite in which two connections can't lose a write while the log is reset (https://sqlite.org/wal.html). */
const FIRST_SAFE = [3, 51, 3] as const;

/** What Linux calls the file systems that other hosts may mount too. */
const NETWORK =
  /^(nfs\d*|cifs|smb\d*|smbfs|ncpfs|9p|afs|ceph|coda|lustre|gfs2|ocfs2|glusterfs|fuse\.(glusterfs|sshfs|nfs))$/;

/** Returns the type of the file system on a device, as `ext4`; undefined where the system doesn't tell. */
export type FileSystemOf = (device: number) => string | undefined;

/** Loads the mounts of this process, which only Linux lists in a file. */
export async function loadFileSystemOf(): Promise<FileSystemOf> {
  const mounts = await files.readText("/proc/self/mountinfo").catch(() => "");
  return (device) => findFileSystem(mounts, device);
}

/** Finds the type of a device's file system in the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)). */
export function findFileSystem(mounts: string, device: number): string | undefined {
  const number = BigInt(device);
  const major = (number >> 8n & 0xfffn) | (number >> 32n & 0xfffff000n);
  const minor = (number & 0xffn) | (number >> 12n & 0xffffff00n);
  const line = mounts.split("\n").find((each) => each.split(" ")[2] === `${major}:${minor}`);
  return line?.split(" - ")[1]?.split(" ")[0];
}

/** Returns why only one process at a time may use a file; undefined where any number may. */
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
