import assert from "node:assert/strict";
import { event, lastStepOf, PAYLOADS } from "../../../../../tests/harness/replay_events.ts";
import { describeStep, textOf } from "../../../../contract/replay/mod.ts";
import { SESSION_EVENT_TYPES } from "../../../../contract/values.ts";
import { summaryOf } from "./steps.ts";

for (const type of SESSION_EVENT_TYPES) {
  Deno.test(`the replay of the dashboard shows what ${type} says, in its list and in its details`, async () => {
    const { payload, shows } = PAYLOADS[type];
    const step = await lastStepOf(event(1, type, payload));
    const summary = summaryOf(step);
    assert.ok(summary.length > 0);
    const { facts, sections } = describeStep(step);
    const shown = sections.filter(({ isDetail }) => !isDetail);
    const text = [...facts, ...shown.map(({ value }) => textOf(value))].join("\n");
    for (const each of shows) assert.ok(text.includes(each), `${each} in\n${text}`);
    assert.ok(shown.every(({ title }) => title !== "Payload"), text);
    if (!type.startsWith("tool.")) {
      assert.doesNotMatch(`${summary}${text}`, /[{}]|\bnull\b|undefined|\[object/);
    }
  });
}
