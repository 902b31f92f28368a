import { join } from "node:path";
import { ROOT, runDeno } from "./run_deno.ts";

/** The imports of another chunk, and the list of exports at the end, as the bundler prints them. */
const IMPORTS = /\bimport(?:\{([^}]*)\}from)?"\.\/(chunk-[\w-]+\.js)";/g;
const EXPORTS = /\bexport\{([^}]*)\};\s*$/;
const LAZY_IMPORTS = /\bimport\("\.\/([\w-]+\.js)"\)/g;

/** A chunk that so many of the files need which the start loads lazily, such as those of commands, is as good as always needed. */
const COMMON = 6;

/**
 * Merges the chunks of a bundle that its entry loads at each start, and those that most commands need, into one, since a runtime takes
 * up to half a millisecond for each file: the bundler makes one for each set of lazy imports that share it. `names` are those of the bundle's files; returns the new ones.
 */
export async function mergeChunks(
  folder: string,
  names: readonly string[],
  entry: string,
): Promise<string[]> {
  const texts = new Map<string, string>();
  for (const name of names) texts.set(name, await Deno.readTextFile(join(folder, name)));
  const reach = (name: string, reached = new Set<string>()) => {
    for (const [, , chunk] of texts.get(name)!.matchAll(IMPORTS)) {
      if (!reached.has(chunk!)) reach(chunk!, reached.add(chunk!));
    }
    return reached;
  };
  const merged = reach(entry);
  const lazy = [...merged].flatMap((chunk) =>
    [...texts.get(chunk)!.matchAll(LAZY_IMPORTS)].map(([, name]) => name!)
  );
  const needs = [...new Set(lazy)].map((name) => reach(name));
  for (const name of names) if (needs.filter((chunks) => chunks.has(name)).length >= COMMON) merged.add(name);
  const order = [...merged];
  const others = names.filter((name) => !merged.has(name));
  const nameOf = (chunk: string, name: string) => `c${order.indexOf(chunk)}_${name}`;
  const parts = order.map((chunk) => {
    const exported = EXPORTS.exec(texts.get(chunk)!)?.[1]?.split(",").map((each) =>
      each.split(" as ").at(-1)!
    ) ?? [];
    return `export{${exported.map((name) => `${name} as ${nameOf(chunk, name)}`)}}from"./${chunk}";`;
  });
  const made = "at_start.js";
  const list = join(folder, `list_${made}`);
  await Deno.writeTextFile(list, parts.join("\n"));
  await runDeno([
    ...["bundle", "--quiet", "--minify", "--config", join(ROOT, "deno.json")],
    ...others.flatMap((name) => ["--external", `./${name}`]),
    ...["--output", join(folder, made), list],
  ]);
  for (const path of [list, ...order.map((chunk) => join(folder, chunk))]) await Deno.remove(path);
  for (const name of others) {
    const imported: string[] = [];
    const text = texts.get(name)!.replaceAll(IMPORTS, (whole, list: string | undefined, chunk: string) => {
      if (!merged.has(chunk)) return whole;
      imported.push(...(list?.split(",") ?? []).map((each) => {
        const [from, to = from] = each.split(" as ");
        return `${nameOf(chunk, from!)} as ${to}`;
      }));
      return "";
    });
    if (text !== texts.get(name)) {
      await Deno.writeTextFile(join(folder, name), `import{${imported}}from"./${made}";${text}`);
    }
  }
  return [...others, made].sort();
}
