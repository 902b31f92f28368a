import assert from "node:assert/strict";
import { builtInChannels } from "../../plugins/mod.ts";
import { createChannelKit, makePlugin } from "../../src/delivery/channels/load_plugin.ts";
import { writeSettingsTable } from "./settings_table.ts";

for (const [kind, load] of Object.entries(builtInChannels)) {
  Deno.test(`the README of ${kind} lists its settings as in its schema`, async () => {
    const plugin = await makePlugin((await load()).default, kind);
    const readme = await Deno.readTextFile(new URL(`../../plugins/${kind}/README.md`, import.meta.url));
    const table = writeSettingsTable(plugin);
    assert.ok(flatten(readme).includes(flatten(table)), `plugins/${kind}/README.md must hold:\n${table}`);
    assert.ok(readme.includes(`"kind": "${kind}"`), "an example of its configuration");
  });
}

Deno.test("the authors' guide names everything that a plugin is passed", async () => {
  const guide = await Deno.readTextFile(new URL("../../docs/writing_a_channel.md", import.meta.url));
  for (const name of Object.keys(await createChannelKit())) assert.ok(guide.includes(`\`${name}\``), name);
  for (const name of ["postJson", "resolveHost", "log", "now", "name"]) {
    assert.ok(guide.includes(`\`${name}\``), name);
  }
});

/** Removes the padding that the formatter adds to tables. */
function flatten(text: string): string {
  return text.replace(/ +/g, " ").replace(/-{3,}/g, "---");
}
