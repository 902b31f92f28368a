import assert from "node:assert/strict";
import { wantsColour, wantsUnicode } from "./terminal.ts";

Deno.test("wantsColour() is for terminals, unless NO_COLOR or TERM says otherwise", () => {
  assert.equal(wantsColour({ TERM: "xterm" }, true), true);
  assert.equal(wantsColour({}, true), true);
  assert.equal(wantsColour({ NO_COLOR: "" }, true), true);
  assert.equal(wantsColour({ NO_COLOR: "1" }, true), false);
  assert.equal(wantsColour({ TERM: "dumb" }, true), false);
  assert.equal(wantsColour({ TERM: "xterm" }, false), false);
});

Deno.test("wantsUnicode() follows the locale", () => {
  const cases: [Record<string, string>, boolean][] = [
    [{}, true],
    [{ LANG: "de_DE.UTF-8" }, true],
    [{ LANG: "C.utf8" }, true],
    [{ LANG: "C" }, false],
    [{ LANG: "en_US.UTF-8", LC_ALL: "POSIX" }, false],
    [{ LANG: "en_US.UTF-8", TERM: "dumb" }, false],
  ];
  for (const [env, expected] of cases) assert.equal(wantsUnicode(env), expected, JSON.stringify(env));
});
