import assert from "node:assert/strict";
import { CLI_PERMISSIONS } from "../build/permissions.ts";
import { loadConfig } from "../src/config/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const path = (name: string) => new URL(`../examples/${name}`, import.meta.url).pathname;

Deno.test("examples/library.ts runs offline and prints an answer, a stop and the costs", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...CLI_PERMISSIONS, "--quiet", path("library.ts")],
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.match(text, /^Ships sail, books balance\. \(\$0\.000152\)\n/);
  assert.match(text, /\nStopped: \$0\.000\d+ spent of \$0\.0005\n/);
  assert.match(text, /\nnewsletter: 1 calls, \$0\.000152\n/);
});

Deno.test("examples/tools.ts is loaded from a config file, and an agent calls its tools", async () => {
  const { tools } = await loadConfig({
    env: { PURSER_CONFIG: path("purser.json"), PURSER_DB: ":memory:" },
    readTextFile: () => Promise.resolve('{ "tools": ["./tools.ts"] } // beside this file'),
  });
  assert.deepEqual(tools, [path("tools.ts")]);
  await using purser = await openTestPurser({ config: { tools } });
  assert.deepEqual(purser.core.toolbox.names(), ["calculator", "count_words", "current_time", "roll_dice"]);
  const { status } = await purser.api("PUT", "/agents/a", { model: "demo:loop", tools: ["count_words"] });
  assert.equal(status, 201);
  const { body } = await purser.api("POST", "/agents/a/runs", { input: "1 times", session_id: "s1" });
  assert.equal(body.output, "Called count_words 1 time.");
  const events = await purser.events("s1");
  const returned = events.find(({ type }) => type === "tool.returned")!;
  assert.deepEqual(Object.keys(returned.payload.output as object), ["words"]);
});

Deno.test("a missing or invalid tools module stops the start and is named", async () => {
  for (
    const [name, reason] of [["nowhere.ts", /no such file/], ["library_types.ts", /no such file/]] as const
  ) {
    await assert.rejects(openTestPurser({ config: { tools: [path(name)] } }), reason);
  }
});
