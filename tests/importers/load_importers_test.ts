import assert from "node:assert/strict";
import {
  type ImporterModule,
  IMPORTERS,
  loadImporters,
  type LogImporter,
} from "../../src/ingest/logs/mod.ts";
import { makePlugin } from "../../src/delivery/channels/load_plugin.ts";

const acme: Omit<LogImporter, "contract"> = {
  name: "acme",
  title: "Acme",
  seen: "3.1",
  holes: [],
  roots: () => ["/acme"],
  kinds: [{ has: () => true, read: { form: "whole", read() {} } }],
};
const moduleOf = (importer: object): ImporterModule => ({ defineImporter }) =>
  defineImporter(importer as LogImporter);
const channel = (
  { defineChannel, z }: { defineChannel(plugin: object): object; z: { object(fields: object): object } },
) => defineChannel({ kind: "pager", settings: z.object({}) });

/** Loads importers with modules by their paths. */
function loadWith(modules: Record<string, unknown>, ...names: string[]) {
  return loadImporters({
    names: names.length > 0 ? names : undefined,
    plugins: Object.keys(modules),
    load: (path) => {
      if (modules[path] instanceof Error) throw modules[path];
      return Promise.resolve({ default: modules[path] });
    },
  });
}

const namesOf = (importers: LogImporter[]) => importers.map(({ name }) => name);

Deno.test("loadImporters() loads built-in importers by name, and all of them with those of plugins", async () => {
  assert.deepEqual(namesOf(await loadWith({ "/acme.ts": new Error("is not asked") }, "codex")), ["codex"]);
  const all = await loadWith({
    "/acme.ts": moduleOf(acme),
    "/pager.ts": channel,
    "/gone.ts": new Error("there is none"),
  });
  assert.deepEqual(namesOf(all), [...Object.keys(IMPORTERS), "acme"]);
  assert.deepEqual(namesOf(await loadWith({ "/acme.ts": moduleOf(acme) }, "acme", "codex")), [
    "codex",
    "acme",
  ]);
});

Deno.test("every built-in importer has the name under which it is registered", async () => {
  for (const [name, load] of Object.entries(IMPORTERS)) assert.equal((await load()).default.name, name);
});

Deno.test("loadImporters() names what is unknown, and the modules that can't be loaded", async () => {
  await assert.rejects(loadWith({}, "codez"), { message: "there is no importer codez; did you mean codex?" });
  await assert.rejects(loadWith({ "/gone.ts": new Error("there is none") }, "acme"), {
    message: /^there is no importer acme.*; Cannot load the plugin \/gone\.ts: there is none$/,
  });
});

const refused: [string, object, RegExp][] = [
  [
    "of another version",
    { ...acme, contract: 2 },
    /version 2 of the contract of importers, and this Purser supports version 1$/,
  ],
  ["with a strange name", { ...acme, name: "A b" }, /its name must consist of lowercase letters/],
  ["without a title", { ...acme, title: "" }, /it has no title$/],
  ["without kinds", { ...acme, kinds: [] }, /it has no kinds of files$/],
  [
    "without a reader",
    { ...acme, kinds: [{ has: () => true, read: { form: "lines", read() {} } }] },
    /no function that reads it$/,
  ],
  [
    "with the name of a built-in one",
    { ...acme, name: "codex" },
    /Cannot use the importer codex: several modules define it/,
  ],
];
for (const [what, importer, message] of refused) {
  Deno.test(`loadImporters() refuses an importer ${what}`, async () => {
    await assert.rejects(loadWith({ "/acme.ts": moduleOf(importer) }), { code: "invalid", message });
  });
}

Deno.test("a module that defines an importer is no channel", async () => {
  await assert.rejects(makePlugin(moduleOf(acme)), { message: "it is an importer of logs, not a channel" });
});
