import assert from "node:assert/strict";
import { renderJsonStep } from "./render_json_step.ts";
import { called, event, lastStepOf, stepsOf, STORY } from "../_test_events.ts";

Deno.test("renderJsonStep() has the event as it came, the cost event of its call, and the sums", async () => {
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
  });
  assert.equal(lines.at(-1).cost_usd_so_far, 0.3);
  assert.equal("cost_recorded" in lines[0], false);
});

Deno.test("renderJsonStep() has null for a cost that is not known, and no sums for messages", async () => {
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
