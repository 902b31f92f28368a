/** Ways to be permitted to mount: as root, or as root of a user namespace. */
const NAMESPACES = [
  { unshare: ["--mount"], nsenter: ["--mount"] },
  { unshare: ["--map-root-user", "--mount"], nsenter: ["--user", "--preserve-credentials", "--mount"] },
];
/** A small disk of one test, for processes in its mount namespace; it is unmounted with the namespace. */
export interface Disk extends AsyncDisposable {
  /** The mount point, as those processes see it. */
  folder: string;
  /** The same for this process: files are reached through it, but not by SQLite, which resolves the path. */
  inside: string;
  /** The command prefix that starts a process in the namespace. */
  enter: string[];
  /** The files on it, in order. */
  names(): string[];
  /** Writes a file of so many bytes, or until the disk is full. */
  fill(name: string, bytes?: number): void;
  /** Resizes it; the files on it stay. */
  resize(bytes: number): Promise<void>;
}

/** Returns the reason why no disk can be mounted on this machine, or undefined if one can: it takes a permission. */
export async function reasonAgainstMounting(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return `tmpfs is Linux's, and this is ${Deno.build.os}`;
  const folder = await Deno.makeTempDir({ prefix: "purser_small_disk_" });
  try {
    await using _disk = await mountDisk(folder, 64 * 1024);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(folder);
  }
}

/** Mounts a tmpfs in a namespace of its own; the mount ends with this process, however it ends. */
export async function mountDisk(folder: string, bytes: number): Promise<Disk> {
  let reason = "";
  for (const { unshare, nsenter } of NAMESPACES) {
    const script = 'mount -t tmpfs -o size="$1" tmpfs "$2" && echo mounted && exec cat';
    const holder = new Deno.Command("unshare", {
      args: [...unshare, "sh", "-c", script, "sh", String(bytes), folder],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const reader = holder.stdout.getReader();
    const { done } = await reader.read();
    const end = async () => {
      await holder.stdin.close().catch(() => {});
      await reader.cancel();
      await holder.status;
    };
    if (done) {
      reason = (await new Response(holder.stderr).text()).trim();
      await end();
      continue;
    }
    await holder.stderr.cancel();
    const enter = ["nsenter", "--target", String(holder.pid), ...nsenter, "--"];
    const inside = `/proc/${holder.pid}/root${folder}`;
    return {
      folder,
      inside,
      enter,
      names: () => [...Deno.readDirSync(inside)].map(({ name }) => name).sort(),
      fill: (name, size = Infinity) => fill(`${inside}/${name}`, size),
      async resize(size) {
        const mount = ["mount", "-o", `remount,size=${size}`, folder];
        const { success } = await new Deno.Command(enter[0]!, { args: [...enter.slice(1), ...mount] })
          .output();
        if (!success) throw new Error(`Cannot resize the disk at ${folder}`);
      },
      [Symbol.asyncDispose]: end,
    };
  }
  throw new Error(`a tmpfs can't be mounted: ${reason}`);
}

function fill(path: string, bytes: number): void {
  using file = Deno.openSync(path, { write: true, create: true });
  const block = new Uint8Array(4_096);
  try {
    for (let written = 0; written < bytes;) written += file.writeSync(block);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  }
}
