import assert from "node:assert/strict";
import { readExports } from "../build/figures.ts";

/** A folder's `mod.ts` exports what other folders use, and nothing else. */

const folders = await readExports();

/** The files that programs import, whose exports are the product's. */
const { exports } = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
const isPublic = (path: string) => Object.values(exports).includes(`./${path}`);

Deno.test("no mod.ts exports what nobody outside of its folder uses", () => {
  assert.ok(folders.length > 40, "the exports are found");
  const unused = folders.filter(({ path }) => !isPublic(path)).flatMap(({ path, unused }) =>
    unused.map((name) => `${path}: ${name}`)
  );
  assert.deepEqual(unused, []);
});

Deno.test("budgets, pricing and snapshots export little, and no SQL", async () => {
  const most = { budgets: 30, pricing: 28, snapshots: 15 };
  for (const [folder, limit] of Object.entries(most)) {
    const path = `src/${folder}/mod.ts`;
    const { names } = folders.find((each) => each.path === path)!;
    assert.ok(names.length <= limit, `${path} has ${names.length} exports`);
    const module = await import(`../${path}`);
    assert.deepEqual(Object.keys(module).filter((name) => typeof module[name] === "string"), []);
  }
});
