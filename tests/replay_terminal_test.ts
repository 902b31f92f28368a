import assert from "node:assert/strict";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { findCli } from "./harness/installed_cli.ts";
import { onTerminal } from "./harness/on_terminal.ts";

Deno.test("state replay draws its screen again when the terminal is resized, without a key", async () => {
  await using place = await newPlace();
  await purser(place, ["agents", "set", "helper", "--model", "demo:echo"]);
  await purser(place, ["run", "helper", "hi", "--session", "first"]);
  const program = (await findCli()).map((word) => `'${word}'`).join(" ");
  const lastScreen = (out: string) => out.split("\x1b[H").at(-1)!;
  const isDrawn = (out: string, columns: number, rows: number) =>
    lastScreen(out).split("\n").length === rows && lastScreen(out).includes(`${"─".repeat(columns)}\x1b`) &&
    lastScreen(out).includes("Step 1 of 4") && lastScreen(out).includes("q quit");
  const sizes: [columns: number, rows: number][] = [[80, 24], [60, 12], [100, 30]];
  let drawn = 0;
  const line = `timeout --foreground 60 ${program} state replay first`; // a screen that stays blank fails
  await onTerminal(line, { ...place.env, LANG: "C.UTF-8" }, async (out, terminal) => {
    const size = sizes[drawn];
    if (!size || !isDrawn(out, ...size)) return;
    const next = sizes[++drawn];
    if (next) await terminal.resize(...next);
    else await terminal.type("q");
  });
  assert.equal(drawn, sizes.length);
});
