/**
 * Records the size of every file over 400 lines and of every folder of `src/` over 25 files in `tests/sizes.json`:
 * `deno task sizes`. `tests/layers_test.ts` holds that none grows past it. Sizes are a thermometer: one that rises is
 * recorded again, and the commit says why.
 */
import { dirname } from "node:path/posix";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RECORD = `${ROOT}tests/sizes.json`;
const PLACES = ["cli.ts", "main.ts", "src", "plugins", "build", "bench", "tests"];
const MAX = { lines: 400, files: 25 };

/** Lines by file, and files by folder. */
export type Sizes = Record<string, number>;

/** Returns the sizes that are over the limits, sorted by path: lines of files, and files besides tests of folders. */
export function measure(): Sizes {
  const sizes: Sizes = {};
  const files = PLACES.flatMap((place) => [...filesIn(place)]);
  for (const file of files) {
    const lines = Deno.readTextFileSync(ROOT + file).split("\n").length - 1;
    if (lines > MAX.lines) sizes[file] = lines;
  }
  const products = files.filter((file) => /^(src|plugins)\//.test(file) && !isTest(file));
  for (const [folder, own] of Map.groupBy(products, dirname)) {
    if (own.length > MAX.files) sizes[`${folder}/`] = own.length;
  }
  return Object.fromEntries(Object.entries(sizes).toSorted(([a], [b]) => a < b ? -1 : 1));
}

const isTest = (file: string) => /_test\.tsx?$|\/_\w+\.tsx?$|conformance\.ts$/.test(file);

/** Code that is written by hand: neither the built page nor lists of data. */
function* filesIn(path: string): Generator<string> {
  if (/\/(_bundle\.ts|data|node_modules|packages)$/.test(path)) return;
  if (/\.(tsx?|css|js)$/.test(path)) return yield path;
  if (/\.\w+$/.test(path)) return;
  for (const { name } of Deno.readDirSync(ROOT + path)) yield* filesIn(`${path}/${name}`);
}

/** Reads the recorded sizes. */
export const readRecord = (): Sizes => JSON.parse(Deno.readTextFileSync(RECORD));

if (import.meta.main) Deno.writeTextFileSync(RECORD, `${JSON.stringify(measure(), null, 2)}\n`);
