import assert from "node:assert/strict";
import { join } from "node:path";
import { bundleUi, UI_BUNDLE } from "../../build/bundle_ui.ts";
import { ROOT } from "../../build/run_deno.ts";
import { PAGE, SCRIPT, STYLE } from "../../src/ui/mod.ts";

/** The bundle of the dashboard, which is committed. */

/** Of the page, the script and the style together, compressed. */
const MAX_BYTES = 80_000;

Deno.test("the committed bundle is what its sources give: deno task ui", async () => {
  assert.ok(await Deno.readTextFile(UI_BUNDLE) === await bundleUi(), "run deno task ui");
});

Deno.test("a browser loads at most 80 kB", async () => {
  const sizes = await Promise.all([PAGE, SCRIPT.text, STYLE.text].map(async (text) => {
    const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    return (await new Response(packed).arrayBuffer()).byteLength;
  }));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(all > 5_000 && all <= MAX_BYTES, `${all} bytes`);
});

Deno.test("the page loads its script and its style, and has nothing inline", () => {
  assert.ok(PAGE.includes(`src="${SCRIPT.path}"`) && PAGE.includes(`href="${STYLE.path}"`));
  assert.ok(!/<style|<script>|\son\w+=|\sstyle=/.test(PAGE));
  assert.ok(!/https?:\/\/(?!www\.w3\.org\/)/.test(SCRIPT.text + STYLE.text), "no other address");
});

Deno.test("no source makes markup of a text, or sets a style", async () => {
  const faults: string[] = [];
  let files = 0;
  for await (const path of filesBelow(join(ROOT, "src/ui"))) {
    if (!path.endsWith(".tsx")) continue;
    files++;
    const text = await Deno.readTextFile(path);
    for (const [found] of text.matchAll(/inner_?HTML|outerHTML|insertAdjacent|document\.write|\bstyle=/gi)) {
      faults.push(`${path}: ${found}`);
    }
  }
  assert.ok(files > 10);
  assert.deepEqual(faults, []);
});

Deno.test("every table downloads", async () => {
  const without: string[] = [];
  for await (const path of filesBelow(join(ROOT, "src/ui/views"))) {
    const [, ...tables] = (await Deno.readTextFile(path)).split("<Table\n");
    for (const table of tables) {
      const [properties] = table.split("/>\n");
      if (!/^\s*source=/m.test(properties!)) without.push(/caption=(.+)/.exec(table)![1]!);
    }
  }
  assert.deepEqual(without, []);
});

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesBelow(join(folder, name));
    else yield join(folder, name);
  }
}
