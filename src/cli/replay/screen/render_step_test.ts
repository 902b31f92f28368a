import assert from "node:assert/strict";
import { createStyle } from "../../terminal/style.ts";
import { renderJsonStep, renderPlainStep } from "./render_step.ts";
import type { ReplayEvent } from "../../../contract/replay/mod.ts";
import {
  called,
  event,
  lastStepOf,
  PAYLOADS,
  stepsOf,
  STORY,
} from "../../../../tests/harness/replay_events.ts";
import { SESSION_EVENT_TYPES } from "../../../contract/values.ts";

const style = createStyle(false);
const render = async (...events: ReplayEvent[]) => renderPlainStep(await lastStepOf(...events), style);

Deno.test("renderPlainStep() renders a run as lines", async () => {
  const steps = await stepsOf(STORY);
  assert.equal(
    steps.map((step) => renderPlainStep(step, style)).join("\n"),
    `\
#1    2026-11-21 09:30:00.000              session.created s1 · agent helper · so far $0
#2    2026-11-21 09:30:00.000        +0 ms run.started     run_1 · agent helper · acme:gpt-x · so far $0
      input: What is 2 + 3?
#3    2026-11-21 09:30:00.120      +120 ms model.called    step 1 · acme:gpt-x · 10 + 2 tokens · $0.1 · took 5 ms · tool-calls · so far $0.1
      reasoning: It is a sum.
      call of calculator: {"expression":"2 + 3"}
#5    2026-11-21 09:30:01.400       +1.2 s tool.called     calculator · so far $0.1
      input: {"expression":"2 + 3"}
#6    2026-11-21 09:30:01.403        +3 ms tool.returned   calculator · took 3 ms · so far $0.1
      output: {"result":5}
#7    2026-11-21 09:30:01.410        +7 ms model.called    step 2 · acme:gpt-x · 10 + 2 tokens · $0.2 · took 5 ms · stop · so far $0.3
      answer: It is 5.
#9    2026-11-21 09:31:05.000   +1 min 3 s run.completed   stop · 2 steps · so far $0.3
      output: It is 5.`,
  );
});

for (const type of SESSION_EVENT_TYPES) {
  Deno.test(`renderPlainStep() shows what ${type} says, and not its payload as JSON`, async () => {
    const { payload, shows } = PAYLOADS[type];
    const text = await render(event(1, type, payload));
    for (const each of shows) assert.ok(text.includes(each), `${each} in\n${text}`);
    assert.doesNotMatch(text, /payload:/);
    // Inputs and outputs of tools are JSON.
    if (!type.startsWith("tool.")) assert.doesNotMatch(text, /[{}]|\bnull\b|undefined|\[object/);
  });
}

Deno.test("renderPlainStep() renders every type of event, unknown ones too", async () => {
  const cases: [ReplayEvent, RegExp][] = [
    [
      event(1, "session.restored", { checksum: "abc" }),
      /^#1 .* session\.restored s1 .*\n {6}payload: \{"checksum":"abc"\}$/,
    ],
    [
      event(1, "model.failed", { step: 2, error: "429" }),
      / model\.failed {4}step 2 · so far \$0\n {6}error: 429$/,
    ],
    [
      event(1, "budget.exceeded", { message: "Cannot continue", cost_usd_so_far: 0.3, budget_usd: 0.25 }),
      / cost \$0\.3 · budget \$0\.25 · so far \$0\n {6}error: Cannot continue$/,
    ],
    [
      event(1, "budget.refused", { message: "The budget “Day” is spent", cost_usd_so_far: 2, budget_usd: 1 }),
      / cost \$2 · budget \$1 · so far \$0\n {6}error: The budget “Day” is spent$/,
    ],
    [
      event(1, "budget.overshot", { call_id: "c1", bound_usd: "0.1", cost_usd: "0.2" }),
      / c1 · bound \$0\.1 · cost \$0\.2 · so far \$0$/,
    ],
    [
      event(1, "run.failed", { code: "provider_error", message: "no" }),
      / provider_error · so far \$0\n {6}error: no$/,
    ],
    [event(1, "run.cancelled", { reason: "by its user" }), /\n {6}reason: by its user$/],
    [event(1, "run.interrupted", { reason: "it ended" }), /\n {6}reason: it ended$/],
    [
      event(1, "tool.returned", { tool_name: "fetch", error: "no net" }),
      / fetch · so far \$0\n {6}error: no net$/,
    ],
    [event(1, "tool.returned", { tool_name: "fetch" }), /\n {6}output: null$/],
    [
      called(1, "c1", null)[1],
      / cost\.recorded {3}acme:gpt-x · 10 \+ 2 tokens · no price · took 5 ms · so far no price$/,
    ],
    [
      event(null, "quantum.leap", { to: 1999 }),
      /^#- .* quantum\.leap {4}so far \$0\n {6}payload: \{"to":1999\}$/,
    ],
    [event(1, "quantum.leap"), / quantum\.leap {4}so far \$0$/],
    [event(1, "tool.called", {}, { imported_from: "production" }), / imported from production · so far/],
  ];
  for (const [one, expected] of cases) assert.match(await render(one), expected);
});

Deno.test("renderPlainStep() shows the valid parts of an invalid payload", async () => {
  const odd = [null, 7, "text", [], {
    tool_calls: "none",
    text: 5,
    cost_usd: {},
    input_tokens: -1,
    step: "x",
  }];
  for (const payload of odd as Record<string, unknown>[]) {
    for (const type of ["run.started", "model.called", "tool.returned", "run.failed", "message", "odd"]) {
      assert.match(
        await render({ ...event(1, type), payload }),
        /^#1 /,
        `${type} ${JSON.stringify(payload)}`,
      );
    }
  }
});

Deno.test("renderPlainStep() shows a message's parts, and no totals", async () => {
  const content = [
    { type: "reasoning", text: "Hm." },
    { type: "text", text: "Hello\nyou" },
    { type: "tool-call", toolName: "add", input: { a: 1 } },
    { type: "tool-result", toolName: "add", output: { type: "json", value: { sum: 3 } } },
    { type: "tool-result", toolName: "add", output: { type: "error-text", value: "no" } },
    { type: "file", url: "x" },
  ];
  assert.equal(
    await render(event(1, "message", { role: "assistant", content }, { at: null })),
    `\
#1    -                                    message         assistant
      reasoning: Hm.
      text:
        Hello
        you
      call of add: {"a":1}
      result of add: {"sum":3}
      result of add: no
      content: {"type":"file","url":"x"}`,
  );
});

Deno.test("renderPlainStep() cuts long texts, and says so", async () => {
  const long = await render(event(1, "run.completed", { output: "x".repeat(1_999) + "👍".repeat(600) }));
  assert.match(long, /\n {6}output:\n {8}x{1999}\n {8}… and 1,200 more characters, with --json$/);
  const tall = await render(event(1, "run.completed", { output: "line\n".repeat(30) }));
  assert.equal(tall.match(/ line\n/g)!.length, 20);
});

Deno.test("renderPlainStep() escapes control characters everywhere", async () => {
  const evil = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e";
  for (
    const type of [
      "run.started",
      "model.called",
      "tool.called",
      "tool.returned",
      "run.failed",
      "message",
      evil,
    ]
  ) {
    const payload = {
      tool_name: evil,
      model: evil,
      provider: evil,
      role: evil,
      finish_reason: evil,
      text: evil,
      reasoning: evil,
      input: { [evil]: evil },
      error: evil,
      code: evil,
      message: evil,
      content: evil,
      tool_calls: [{ tool_name: evil, input: evil }],
    };
    const names = { agent_id: evil, session_id: evil, run_id: evil, imported_from: evil };
    const text = await render(event(1, type, payload, names));
    // deno-lint-ignore no-control-regex -- what must not be there
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/, type);
    assert.match(text, /\\x1b\]0;pwned\\x07/);
  }
});

Deno.test("renderPlainStep() paints errors red and minor details dim", async () => {
  const step = await lastStepOf(event(1, "run.failed", { message: "one\ntwo" }));
  const text = renderPlainStep(step, createStyle(true));
  assert.ok(text.includes("\x1b[31mrun.failed     \x1b[39m"));
  assert.ok(text.endsWith("\n        \x1b[31mone\x1b[39m\n        \x1b[31mtwo\x1b[39m"));
});

Deno.test("renderJsonStep() has the event, the cost event of its call, and the totals", async () => {
  const lines = (await stepsOf(STORY)).map((step) => JSON.parse(renderJsonStep(step)));
  assert.deepEqual(lines[2], {
    ...STORY[2],
    cost_recorded: STORY[3],
    elapsed_ms: 120,
    since_previous_ms: 120,
    cost_usd_so_far: 0.1,
    input_tokens_so_far: 10,
    output_tokens_so_far: 2,
    calls_so_far: 1,
    unpriced_calls_so_far: 0,
    partly_priced_calls_so_far: 0,
  });
  assert.equal(lines.at(-1).cost_usd_so_far, 0.3);
  assert.equal("cost_recorded" in lines[0], false);
});

Deno.test("renderJsonStep() has null for an unknown cost, and no totals for messages", async () => {
  const unpriced = JSON.parse(renderJsonStep(await lastStepOf(...called(1, "a", null))));
  assert.equal(unpriced.cost_usd_so_far, null);
  assert.equal(unpriced.unpriced_calls_so_far, 1);
  const message = JSON.parse(renderJsonStep(await lastStepOf(event(1, "message"))));
  assert.deepEqual(Object.keys(message).filter((name) => name.includes("so_far")), []);
});

Deno.test("renderJsonStep() is one line of JSON that a terminal can show, with every character kept", async () => {
  const text = "a\n\x1b[31m\x7f\x9b\u2028\u202e\ufeff👍\\x9b";
  const line = renderJsonStep(await lastStepOf(event(1, text, { [text]: text })));
  // deno-lint-ignore no-control-regex -- what must not be there
  assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f\u2028\u202e\ufeff]/);
  assert.deepEqual(JSON.parse(line).payload, { [text]: text });
});
