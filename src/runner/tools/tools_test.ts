import { tool, type ToolSet } from "ai";
import assert from "node:assert/strict";
import { z } from "zod";
import { fixedClock } from "../../kernel/clock.ts";
import { createToolbox, loadToolModules } from "./mod.ts";

const clock = fixedClock("2026-07-01T12:00:00.500Z");
const shout = tool({
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => text.toUpperCase(),
});

/** Runs a tool as the AI SDK would. */
function run(tools: ToolSet, name: string, input: unknown): unknown {
  return tools[name]!.execute!(input as never, { toolCallId: "1", messages: [], context: {} as never });
}

Deno.test("createToolbox() has a calculator and a clock", async () => {
  const toolbox = createToolbox({ clock });
  assert.deepEqual(toolbox.names(), ["calculator", "current_time"]);
  const tools = await toolbox.pick(["calculator", "current_time"]);
  assert.deepEqual(run(tools, "calculator", { expression: "6 * 7" }), { result: 42 });
  assert.throws(() => run(tools, "calculator", { expression: "6 *" }), /the expression ends too early/);
  assert.deepEqual(run(tools, "current_time", {}), { time: "2026-07-01T12:00:00Z", timezone: "UTC" });
  assert.deepEqual(run(tools, "current_time", { timezone: "Asia/Kolkata" }), {
    time: "2026-07-01T17:30:00+05:30",
    timezone: "Asia/Calcutta",
  });
  assert.throws(() => run(tools, "current_time", { timezone: "Mars/Base" }), {
    code: "invalid",
    message: "Cannot format the time: Mars/Base is not an IANA time zone; write it as in Europe/Berlin",
  });
});

Deno.test("pick() returns exactly the named tools and lists what is known otherwise", async () => {
  const toolbox = createToolbox({ clock, custom: { shout } });
  assert.deepEqual(Object.keys(await toolbox.pick(["shout", "shout"])), ["shout"]);
  assert.deepEqual(await toolbox.pick([]), {});
  const refusal = {
    code: "invalid",
    message: "Cannot use the tool constructor: it is not known; there are calculator, current_time, shout",
  };
  assert.throws(() => toolbox.check(["shout", "constructor"]), refusal);
  await assert.rejects(toolbox.pick(["shout", "constructor"]), refusal);
});

Deno.test("createToolbox() refuses what can't be offered to a model", () => {
  const cases: [ToolSet, RegExp][] = [
    [{ calculator: shout }, /calculator: there already is a tool of that name/],
    [{ "two words": shout }, /takes letters, digits, _ and -/],
    [
      { idle: { inputSchema: z.object({}) } as unknown as ToolSet[string] },
      /idle: it has no execute function/,
    ],
    [{ nothing: null as unknown as ToolSet[string] }, /nothing: it is not a tool/],
  ];
  for (const [custom, message] of cases) {
    assert.throws(() => createToolbox({ clock, custom }), { code: "invalid", message });
  }
  assert.throws(() => createToolbox({ clock, modules: { shout }, custom: { shout } }), /already is a tool/);
});

/** Writes tool modules into a new folder and says where they are. */
async function withModules(
  modules: Record<string, string>,
  use: (path: (name: string) => string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "purser tools #" });
  try {
    for (const [name, text] of Object.entries(modules)) await Deno.writeTextFile(`${folder}/${name}`, text);
    await use((name) => `${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const GREET = `export default ({ tool, z }) => ({
  greet: tool({
    description: "Greets",
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }: { name: string }) => "Hello " + name,
  }),
});`;

Deno.test("loadToolModules() loads TypeScript from disk and hands it tool and z", async () => {
  await withModules({ "greet.ts": GREET }, async (path) => {
    const tools = await loadToolModules([path("greet.ts")]);
    assert.deepEqual(Object.keys(tools), ["greet"]);
    assert.equal(run(tools, "greet", { name: "Ada" }), "Hello Ada");
    const toolbox = createToolbox({ clock, modules: tools });
    assert.deepEqual(toolbox.names(), ["calculator", "current_time", "greet"]);
  });
  assert.deepEqual(await loadToolModules([]), {});
});

Deno.test("loadToolModules() names the file and what is wrong with it", async () => {
  const modules = {
    "empty.ts": "export const a = 1;",
    "number.ts": "export default 7;",
    "nothing.ts": "export default () => undefined;",
    "throws.ts": `export default () => { throw new Error("no luck"); };`,
    "top.ts": `throw new Error("at the top");`,
    "broken.ts": "export default ((",
    "import.ts": `import "./absent.ts";`,
    "idle.ts": "export default ({ tool, z }) => ({ idle: tool({ inputSchema: z.object({}) }) });",
    "name.ts":
      "export default ({ tool, z }) => ({ 'a b': tool({ inputSchema: z.object({}), execute() {} }) });",
    "clash.ts":
      "export default ({ tool, z }) => ({ calculator: tool({ inputSchema: z.object({}), execute() {} }) });",
    "greet.ts": GREET,
    "again.ts": GREET,
  };
  await withModules(modules, async (path) => {
    const cases: [string[], RegExp][] = [
      [["absent.ts"], /absent\.ts: no such file or directory$/],
      [["."], /: it is not a file$/],
      [["empty.ts"], /empty\.ts: it has no default export$/],
      [["number.ts"], /number\.ts: its default export is not a function$/],
      [["nothing.ts"], /nothing\.ts: its default export returned no object of tools$/],
      [["throws.ts"], /throws\.ts: its default export failed: no luck$/],
      [["top.ts"], /top\.ts: at the top$/],
      [["broken.ts"], /broken\.ts: /],
      [["import.ts"], /import\.ts: .*absent\.ts/],
      [["idle.ts"], /idle\.ts: tool idle: it has no execute function$/],
      [["name.ts"], /name\.ts: tool a b: a name takes letters/],
      [["clash.ts"], /clash\.ts: tool calculator: there already is a tool of that name$/],
      [["greet.ts", "again.ts"], /again\.ts: tool greet: there already is a tool of that name$/],
    ];
    for (const [names, message] of cases) {
      await assert.rejects(loadToolModules(names.map(path)), { code: "invalid", message }, names.join());
    }
  });
});
