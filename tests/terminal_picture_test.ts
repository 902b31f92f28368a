import assert from "node:assert/strict";
import { drawTerminal, PICTURE } from "../build/terminal_picture.ts";

Deno.test("the picture in the README shows what the commands print now: `deno task picture` draws it", async () => {
  assert.equal(await Deno.readTextFile(PICTURE), await drawTerminal());
});
