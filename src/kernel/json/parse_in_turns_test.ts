import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { createTurns } from "../turns.ts";
import { parseInTurns } from "./parse_in_turns.ts";

const parse = (text: string) =>
  parseInTurns(new TextEncoder().encode(text), createTurns(() => Promise.resolve()));
/** A member without a limit to its size, which makes a text of several parts. */
const LONG = "x".repeat(20_000);

Deno.test("parseInTurns() returns what JSON.parse() returns, for any JSON and any size of its parts", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", ",", "[", "}", "é", "😀"), maxLength: 20 });
  const name = fc.string({ unit: fc.constantFrom("a", '"', ",", "[", "}", "é", "😀"), maxLength: 20 });
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(LONG, LONG + '"\\', 1.5, null, true, "", [], {}),
      text,
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("any")),
    // V8 takes a name with an escape for another one that has a backslash, where both begin with the same bytes.
    object: fc.dictionary(fc.oneof(name, fc.constant("__proto__")), tie("any")),
  })).any;
  await fc.assert(fc.asyncProperty(value, fc.boolean(), async (value, isIndented) => {
    const json = JSON.stringify(value, null, isIndented ? 2 : 0);
    const parsed = JSON.stringify(await parse(json));
    assert.ok(
      parsed === JSON.stringify(JSON.parse(json)),
      `${json.replaceAll(LONG, "LONG")} became ${parsed.replaceAll(LONG, "LONG")}`,
    );
  }));
});

Deno.test("parseInTurns() gives others a turn in every 32 KB", async () => {
  let turns = 0;
  const counting = createTurns(() => (turns++, Promise.resolve()), 32 * 1024);
  const json = JSON.stringify({ data: Array.from({ length: 100_000 }, (_, i) => ({ [`k${i}`]: i })) });
  await parseInTurns(new TextEncoder().encode(json), counting);
  assert.ok(turns > json.length / 40_000, `${turns} turns`);
});

Deno.test("parseInTurns() refuses what is not JSON, or nested without end", async () => {
  const long = `"${LONG}",`.repeat(5);
  for (
    const text of ["", "]", ",", "[1,]", `[${long}`, `[${long} x]`, `{${long}"a":1}`, "[".repeat(200_000)]
  ) {
    await assert.rejects(parse(text), SyntaxError, text.slice(0, 20));
  }
});
