import { dirname, join } from "node:path";
import { ROOT } from "../../build/run_deno.ts";
import { said } from "./node.ts";
import { isThorough } from "./thorough.ts";

/** The reason why no image is built and run here, or undefined if it is. */
export const containersMissing: string | undefined = !isThorough
  ? "PURSER_THOROUGH is not set"
  : Deno.build.os !== "linux" || Deno.uid() !== 0
  ? "only root builds and runs containers without a daemon"
  : await hasAll(["buildah", "crun"])
  ? undefined
  : "the packages buildah and crun are not installed";

async function hasAll(programs: readonly string[]): Promise<boolean> {
  const found = programs.map((name) => said(name, ["--version"]).then(() => true, () => false));
  return (await Promise.all(found)).every(Boolean);
}

/** The number of the image's user, as denoland/deno has it. */
const USER = 1993;

/** The settings of an image, of those that the tests read. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Labels: Record<string, string>;
  Healthcheck: { Test: string[] };
  Volumes: Record<string, unknown>;
}

/** An image that was built from the repository's Dockerfile, its files in a folder. */
export interface Image extends AsyncDisposable {
  config: ImageConfig;
  rootfs: string;
  /** The bytes of its files that its base lacks. */
  addedBytes: number;
}

/** A program in a container of that image. */
export interface Container {
  process: Deno.ChildProcess;
  /** Ends all of the container, without warning. */
  kill(): Promise<void>;
  /** Runs a program in it to its end, and returns its exit code. */
  exec(args: readonly string[]): Promise<number>;
}

/**
 * Builds the image by buildah, without a daemon. No registry of images is needed: the base is made of this machine's own files,
 * a shell, `install`, their libraries, certificates and this Deno. The build finds its packages in Deno's cache.
 */
export async function buildImage(folder: string, args: Readonly<Record<string, string>>): Promise<Image> {
  const storage = join(folder, "storage.conf");
  await Deno.writeTextFile(
    storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`,
  );
  const buildah = (...words: string[]) =>
    said("env", [
      ...["BUILDAH_ISOLATION=chroot", "STORAGE_DRIVER=vfs", `CONTAINERS_STORAGE_CONF=${storage}`],
      ...["buildah", ...words],
    ]);
  const base = join(folder, "base");
  await makeBase(base);
  const scratch = await buildah("from", "scratch");
  await buildah("copy", "--quiet", scratch, base, "/");
  await buildah("config", "--env", "PATH=/usr/bin", "--env", "DENO_DIR=/deno-dir", scratch);
  await buildah("commit", "--quiet", "--disable-compression", scratch, "localhost/base");
  await buildah("rm", scratch);
  const { denoDir } = JSON.parse(await said(Deno.execPath(), ["info", "--json"]));
  await buildah(
    ...[
      "build",
      "--quiet",
      "--format=docker",
      "--pull=never",
      "--network=host",
      `--volume=${denoDir}:/deno-dir`,
    ],
    ...Object.entries({ BASE: "localhost/base", ...args }).map(([name, value]) =>
      `--build-arg=${name}=${value}`
    ),
    ...["--tag=localhost/purser", ROOT],
  );
  const container = await buildah("from", "--pull=never", "localhost/purser");
  const rootfs = await buildah("mount", container);
  const inspected = JSON.parse(await buildah("inspect", "--type=image", "localhost/purser"));
  const bytes = async (path: string) => Number((await said("du", ["--bytes", "-s", path])).split("\t")[0]);
  return {
    config: inspected.Docker.config,
    rootfs,
    addedBytes: await bytes(rootfs) - await bytes(base),
    async [Symbol.asyncDispose]() {
      await buildah("umount", container);
      await buildah("rm", container);
    },
  };
}

async function makeBase(base: string): Promise<void> {
  for (const path of ["usr/bin", "etc/ssl/certs", "proc", "dev", "sys", "tmp", "root", "deno-dir"]) {
    await Deno.mkdir(join(base, path), { recursive: true });
  }
  for (const name of ["bin", "lib", "lib64"]) {
    await Deno.mkdir(join(base, "usr", name), { recursive: true });
    await Deno.symlink(`usr/${name}`, join(base, name));
  }
  const libraries = new Set<string>();
  for (
    const [path, as] of [["/bin/sh", "sh"], ["/usr/bin/install", "install"], [
      Deno.execPath(),
      "deno",
    ]] as const
  ) {
    await Deno.copyFile(path, join(base, "usr/bin", as));
    for (const [library] of (await said("ldd", [path])).matchAll(/(?<=\s)\/\S+/g)) libraries.add(library);
  }
  for (const library of libraries) {
    await Deno.mkdir(dirname(join(base, library)), { recursive: true });
    await Deno.copyFile(library, join(base, library));
  }
  await Deno.copyFile("/etc/ssl/certs/ca-certificates.crt", join(base, "etc/ssl/certs/ca-certificates.crt"));
  await Deno.writeTextFile(
    join(base, "etc/passwd"),
    `root:x:0:0::/root:/bin/sh\ndeno:x:${USER}:${USER}::/tmp:/bin/sh\n`,
  );
  await Deno.writeTextFile(join(base, "etc/group"), `root:x:0:\ndeno:x:${USER}:\n`);
  await Deno.chmod(join(base, "tmp"), 0o1777);
}

/** crun refuses the mixed hierarchy of control groups that some machines have; it makes none here anyway. */
const OWN_GROUPS = 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"';

/**
 * Starts the image's entry point in a container: as its user without any capability, over a root file system that can't be
 * written, with an empty `/tmp`, and the volume. Its network is this machine's.
 */
export async function startContainer(
  folder: string,
  image: Image,
  options: {
    name: string;
    volume: string;
    args?: readonly string[];
    env?: Readonly<Record<string, string>>;
  },
): Promise<Container> {
  const { name, volume, args, env = {} } = options;
  const { config, rootfs } = image;
  const bundle = join(folder, name);
  await Deno.mkdir(bundle);
  await said("crun", ["spec"], bundle);
  const spec = JSON.parse(await Deno.readTextFile(join(bundle, "config.json")));
  const [uid, gid] = config.User.split(":").map(Number);
  Object.assign(spec.process, {
    terminal: false,
    user: { uid, gid },
    env: [...config.Env, ...Object.entries(env).map((pair) => pair.join("="))],
    args: [...config.Entrypoint, ...args ?? config.Cmd],
    capabilities: {},
  });
  spec.root = { path: rootfs, readonly: true };
  spec.mounts = spec.mounts.filter(({ destination }: { destination: string }) =>
    !destination.includes("cgroup")
  );
  spec.mounts.push({ destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev"] });
  const [mounted] = Object.keys(config.Volumes);
  spec.mounts.push({ destination: mounted, type: "none", source: volume, options: ["bind", "rw"] });
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) =>
    !["network", "cgroup"].includes(type)
  );
  await Deno.writeTextFile(join(bundle, "config.json"), JSON.stringify(spec));
  const crun = ["--root", join(folder, "crun"), "--cgroup-manager=disabled"];
  const process = new Deno.Command("unshare", {
    args: ["--mount", "sh", "-c", OWN_GROUPS, "sh", "crun", ...crun, "run", "--bundle", bundle, name],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const inside = (...words: string[]) =>
    new Deno.Command("unshare", {
      args: ["--mount", "sh", "-c", OWN_GROUPS, "sh", "crun", ...crun, ...words],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  return {
    process,
    kill: async () => void await inside("kill", name, "KILL"),
    exec: async (words) => (await inside("exec", name, ...words)).code,
  };
}
