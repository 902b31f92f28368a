import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { addHooks, ownHooks, removeHooks } from "../../src/cli/commands/gate/edit_settings.ts";
import { parseJsonc } from "../../src/kernel/json/parse_jsonc.ts";
import { cases } from "../harness/thorough.ts";

const COMMAND = "purser gate --agent claude-code --on-error open";
const HOOK = { hooks: [{ type: "command", command: COMMAND, timeout: 30 }] };
const HOOKS = { UserPromptSubmit: HOOK, PostToolBatch: HOOK };
const isOwn = (hook: unknown) => (hook as { command?: unknown } | null)?.command === COMMAND;

const add = (text: string) => addHooks(text, HOOKS, isOwn);
const remove = (text: string) => removeHooks(text, isOwn);
const parse = (text: string) => parseJsonc(text, (reason) => new Error(reason));

const WRITTEN: readonly (readonly [title: string, before: string, after: string])[] = [
  [
    "nothing",
    "",
    `{
  "hooks": {
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "${COMMAND}",
            "timeout": 30
          }
        ]
      }
    ],
    "PostToolBatch": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "${COMMAND}",
            "timeout": 30
          }
        ]
      }
    ]
  }
}
`,
  ],
  [
    "one line",
    '{"model":"opus"}',
    `{"model":"opus", "hooks": ${
      JSON.stringify({ UserPromptSubmit: [HOOK] }).slice(0, -1)
    }, "PostToolBatch": ${JSON.stringify([HOOK])}}}`,
  ],
  [
    "comments, tabs and other hooks",
    `// mine
{
\t"model": "opus", // the best
\t"hooks": {
\t\t/* tests */
\t\t"UserPromptSubmit": [{ "hooks": [] }], // first
\t},
\t// the end
}
`,
    `// mine
{
\t"model": "opus", // the best
\t"hooks": {
\t\t/* tests */
\t\t"UserPromptSubmit": [{ "hooks": [] }, ${JSON.stringify(HOOK)}], // first
\t\t"PostToolBatch": [
\t\t\t{
\t\t\t\t"hooks": [
\t\t\t\t\t{
\t\t\t\t\t\t"type": "command",
\t\t\t\t\t\t"command": "${COMMAND}",
\t\t\t\t\t\t"timeout": 30
\t\t\t\t\t}
\t\t\t\t]
\t\t\t}
\t\t]
\t},
\t// the end
}
`,
  ],
];

for (const [title, before, after] of WRITTEN) {
  Deno.test(`addHooks() adds to settings of ${title} in their own style, and does so once`, () => {
    assert.equal(add(before), after);
    assert.equal(add(after), after);
    if (before !== "") assert.deepEqual(parse(remove(after)), parse(before));
  });
}

Deno.test("addHooks() replaces an earlier hook of its own, and removes it from events that have none now", () => {
  const old = JSON.stringify({
    hooks: { Stop: [HOOK], UserPromptSubmit: [{ hooks: [{ command: COMMAND }, { command: "x" }] }] },
  });
  assert.deepEqual(parse(add(old)), {
    hooks: { UserPromptSubmit: [{ hooks: [{ command: "x" }] }, HOOK], PostToolBatch: [HOOK] },
  });
});

for (
  const [text, reason] of [
    ['{"a":1,\n  "b" 2}', /line 2, column 7: colon expected/],
    ["[]", /it is no JSON object/],
    ['{"hooks":[]}', /its hooks are no JSON object/],
    ['{"hooks":{"Stop":{}}}', /its hooks of Stop are no list/],
    ['{"hooks":{},"hooks":{}}', /it has the key hooks twice/],
    ['{"hooks":{"Stop":[],"Stop":[]}}', /it has the key Stop twice/],
  ] as const
) {
  Deno.test(`addHooks() refuses ${JSON.stringify(text)}`, () => {
    assert.throws(() => add(text), reason);
    assert.throws(() => remove(text), reason);
  });
}

/** Text of JSON with blanks, comments and trailing commas between its tokens. */
const layouts = fc.record({
  value: fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom("model", "env")).filter((key) =>
      key !== "hooks" && key !== "__proto__"
    ),
    fc.jsonValue(),
    { maxKeys: 4 },
  ),
  hooks: fc.option(fc.dictionary(
    fc.constantFrom("UserPromptSubmit", "Stop", "PostToolBatch"),
    fc.array(
      fc.oneof(fc.constant({ hooks: [{ type: "command", command: "other" }] }), fc.constant({ hooks: [] })),
      {
        maxLength: 3,
      },
    ),
  )),
  indent: fc.constantFrom(undefined, 2, 4, "\t"),
  eol: fc.constantFrom("\n", "\r\n"),
  comments: fc.array(fc.constantFrom("", " // x, {\n", "/* , } */", "\n"), { minLength: 1, maxLength: 5 }),
  end: fc.constantFrom("", "\n", " "),
});

function layOut(
  { value, hooks, indent, eol, comments, end }: typeof layouts extends fc.Arbitrary<infer T> ? T : never,
): string {
  const text = JSON.stringify(hooks === null ? value : { ...value, hooks }, null, indent);
  let at = 0;
  // Only where no string is: between the tokens that end lines or values.
  const commented = indent === undefined
    ? text
    : text.split("\n").map((line) => line + (comments[at++ % comments.length] ?? "").trimEnd()).join("\n");
  return commented.replaceAll("\n", eol) + end;
}

Deno.test("settings of any form survive an installation and its removal, with every comment", () => {
  fc.assert(
    fc.property(layouts, (layout) => {
      const before = layOut(layout);
      const installed = add(before);
      assert.equal(add(installed), installed, "a second installation changes nothing");
      assert.deepEqual(ownHooks(installed, isOwn), HOOKS);
      const removed = remove(installed);
      const comments = (text: string) => text.match(/\/\/ x, \{|\/\* , \} \*\//g)?.length ?? 0;
      assert.deepEqual([comments(installed), comments(removed)], [comments(before), comments(before)]);
      const others = (text: string) => {
        const { hooks: _, ...rest } = parse(text) as Record<string, unknown>;
        return rest;
      };
      assert.deepEqual(others(removed), others(before));
      assert.deepEqual(Object.keys(others(removed)), Object.keys(others(before)));
      const kept = ({ hooks = {} }: { hooks?: Record<string, unknown[]> }) =>
        Object.fromEntries(Object.entries(hooks).filter(([, items]) => items.length > 0));
      assert.deepEqual(kept(parse(removed) as object), kept(parse(before) as object));
    }),
    { numRuns: cases(150) },
  );
});
