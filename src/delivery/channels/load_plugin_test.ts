import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { fixedClock } from "../../kernel/clock.ts";
import { createLoadPlugin, makePlugin } from "./load_plugin.ts";
import type { ChannelModule } from "./channel.ts";

const builtIn = {
  log: () => import("../../../plugins/log/mod.ts"),
};

/** Writes modules into a folder, and loads a kind from them. */
async function load(kind: string, modules: Record<string, string>): Promise<unknown> {
  const directory = await Deno.makeTempDir();
  try {
    const paths = Object.keys(modules).map((name) => `${directory}/${name}`);
    for (const [name, text] of Object.entries(modules)) {
      if (text !== "") await Deno.writeTextFile(`${directory}/${name}`, text);
    }
    return await createLoadPlugin(builtIn, paths, fixedClock(0))(kind);
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    return [code, message.replaceAll(`${directory}/`, "")];
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const good = (kind: string) =>
  `export default ({ defineChannel, z }) => defineChannel({
    kind: "${kind}", summary: "x", settings: z.object({}), open: () => ({ send: () => ({ ok: true }) }) });`;

Deno.test("createLoadPlugin() loads modules from disk beside the built-in kinds", async () => {
  const modules = { "a.ts": good("pager"), "b.ts": good("sms"), "broken.ts": "export default 1" };
  assert.equal((await load("sms", modules) as { kind: string }).kind, "sms");
  assert.equal((await load("log", modules) as { kind: string }).kind, "log");
});

Deno.test("createLoadPlugin() rejects an unknown kind with the known ones and the broken modules", async () => {
  assert.deepEqual(await load("pgaer", { "a.ts": good("pager") }), [
    "invalid",
    "There is no channel kind pgaer; did you mean pager?",
  ]);
  assert.deepEqual(await load("zzz", { "a.ts": good("pager"), "b.ts": "" }), [
    "invalid",
    "There is no channel kind zzz (known are log, pager); Cannot load the plugin b.ts: no such file or directory",
  ]);
  assert.deepEqual(await load("pager", { "a.ts": good("pager"), "b.ts": good("pager") }), [
    "invalid",
    "Cannot use the channel kind pager: several plugins define it",
  ]);
  assert.deepEqual(await load("x", { "a.ts": good("log") }), [
    "invalid",
    "There is no channel kind x (known are log); Cannot load the plugin a.ts: log is the kind of a built-in channel",
  ]);
});

Deno.test("createLoadPlugin() does not wait for a module that hangs, and runs it again", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const paths = ["hangs.ts", "pager.ts"].map((name) => `${directory}/${name}`);
    await Deno.writeTextFile(
      paths[0]!,
      `export const state = { hangs: true, began: Promise.withResolvers() };
      const make = ({ defineChannel, z }) => defineChannel({
        kind: "late", summary: "x", settings: z.object({}), open: () => ({ send: () => ({ ok: true }) }) });
      export default (kit) => {
        state.began.resolve();
        return state.hangs ? new Promise(() => {}) : make(kit);
      };`,
    );
    await Deno.writeTextFile(paths[1]!, good("pager"));
    const { state } = await import(pathToFileURL(paths[0]!).href);
    const clock = fixedClock(0);
    const load = createLoadPlugin(builtIn, paths, clock);
    const [pager] = [load("pager"), load("late")];
    clock.advance(1_000);
    assert.equal((await pager).kind, "pager");
    await state.began.promise;
    state.hangs = false;
    assert.equal((await load("late")).kind, "late");
    assert.equal((await load("pager")).kind, "pager");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("createLoadPlugin() names the fault of a module", async () => {
  const faultOf = async (text: string) => {
    const [, message] = await load("zzzzzzzz", { "a.ts": text }) as [string, string];
    return message.split("Cannot load the plugin a.ts: ")[1];
  };
  const plugin = (changes: string) =>
    `export default ({ defineChannel, z }) => ({ ...defineChannel({
      kind: "pager", summary: "x", settings: z.object({}), open: () => ({}) }), ${changes} });`;
  const cases: [string, RegExp][] = [
    ["export const a = 1;", /^it has no default export$/],
    ["export default {};", /^its default export is not a function$/],
    ["export default () => { throw new Error('oh no') };", /^oh no$/],
    ["export default () => undefined;", /^its default export returned no plugin$/],
    ["import './nowhere.ts'; export default 1;", /nowhere\.ts/],
    ["export default (", /./],
    [plugin("contract: 2"), /^it was written for version 2 of the channel contract, .* supports version 1$/],
    [plugin("contract: undefined"), /^it was written for version undefined/],
    [plugin("kind: 'A b'"), /^its kind must consist of lowercase letters/],
    [plugin("summary: ''"), /^it has no summary$/],
    [plugin("settings: z.string()"), /^its settings are not a z\.object\(\{…\}\)$/],
    [plugin("settings: {}"), /^its settings are not a z\.object/],
    [plugin("open: 1"), /^it has no open function$/],
  ];
  for (const [text, fault] of cases) assert.match(await faultOf(text) ?? "it was taken", fault);
});

Deno.test("makePlugin() rejects a module of another kind than registered", async () => {
  const module: ChannelModule = ({ defineChannel, z }) =>
    defineChannel({
      kind: "a",
      summary: "x",
      settings: z.object({}),
      open: () => ({ send: () => ({ ok: true }) }),
    });
  await assert.rejects(makePlugin(module, "b"), { message: "its kind is a, not b" });
});

Deno.test("channels/mod.ts imports no package before a channel is used", async () => {
  const entry = new URL("./mod.ts", import.meta.url).href;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", entry] }).output();
  type Module = { specifier: string; dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[] };
  const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const found = new Set([entry]);
  for (const specifier of found) {
    const dependencies = modules.find((module) => module.specifier === specifier)?.dependencies ?? [];
    for (const { isDynamic, code } of dependencies) if (code && !isDynamic) found.add(code.specifier);
  }
  assert.ok(found.size > 5);
  assert.deepEqual([...found].filter((specifier) => !specifier.startsWith("file:")), []);
});
