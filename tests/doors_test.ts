import assert from "node:assert/strict";
import { readDoors } from "../build/figures.ts";

/** The doors are narrow: a folder's `mod.ts` exports what other folders use. */

const doors = await readDoors();

/** The doors that programs import, whose exports are the product's. */
const { exports } = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
const isPublic = (path: string) => Object.values(exports).includes(`./${path}`);

Deno.test("no door exports what nobody outside of its folder uses", () => {
  assert.ok(doors.length > 40, "the doors are found");
  const unused = doors.filter(({ path }) => !isPublic(path)).flatMap(({ path, unused }) =>
    unused.map((name) => `${path}: ${name}`)
  );
  assert.deepEqual(unused, []);
});

Deno.test("budgets, pricing and snapshots have narrow doors, and none hands out SQL", async () => {
  const most = { budgets: 30, pricing: 28, snapshots: 15 };
  for (const [folder, limit] of Object.entries(most)) {
    const path = `src/${folder}/mod.ts`;
    const { names } = doors.find((door) => door.path === path)!;
    assert.ok(names.length <= limit, `${path} has ${names.length} exports`);
    const door = await import(`../${path}`);
    assert.deepEqual(Object.keys(door).filter((name) => typeof door[name] === "string"), []);
  }
});
