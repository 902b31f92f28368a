import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import fc from "#dev/fast_check.ts";
import { tokenize } from "./parse_command_line.ts";

const WORDS = [
  "--",
  "-",
  "--a",
  "--b",
  "--a=x",
  "--b=",
  "--=",
  "--=x",
  "-x",
  "-xb",
  "--c",
  "--__proto__",
  "x",
  "",
  "-1",
  "--a=b=c",
];

/** Returns the tokens of node:util, in the same form. */
function byNode(args: string[]) {
  const options = { a: { type: "string" }, b: { type: "boolean" } } as const;
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
  return tokens.flatMap((token) => {
    if (token.kind === "option-terminator") return [];
    const { index: _, ...rest } = token;
    return [rest];
  });
}

Deno.test("tokenize() splits a line like node:util", () => {
  // Short options are letters only: other characters in a group are reported as unknown options anyway.
  const word = fc.string({ maxLength: 6 }).filter((text) => /^(--|[^-]|-?$|-[b-z]+$)/.test(text));
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...WORDS), word), { maxLength: 8 }), (argv) => {
      const plain = (tokens: object[]) => JSON.parse(JSON.stringify(tokens));
      assert.deepEqual(plain(tokenize(argv, (name) => name === "a")), plain(byNode(argv)));
    }),
    { numRuns: 2_000 },
  );
});
