import assert from "node:assert/strict";
import { fittingLabels, scaleTo } from "./scale.ts";

Deno.test("an axis has round ticks and room for the largest value", () => {
  assert.deepEqual(scaleTo(10), { max: 10, ticks: [0, 2.5, 5, 7.5, 10] });
  assert.deepEqual(scaleTo(11), { max: 15, ticks: [0, 5, 10, 15] });
  assert.deepEqual(scaleTo(0), { max: 1, ticks: [0] });
  for (let power = -9; power < 7; power++) {
    for (const digits of [1, 1.01, 2.3, 4.9999, 7.77, 9.99]) {
      const largest = digits * 10 ** power;
      const { max, ticks } = scaleTo(largest);
      assert.ok(max >= largest * 0.999 && max <= largest * 2.6, `${largest} of ${max}`);
      assert.ok(ticks.length >= 2 && ticks.length <= 5, `${ticks.length} ticks for ${largest}`);
    }
  }
});

Deno.test("labels that fit stand under their points, the last one always", () => {
  assert.deepEqual([...fittingLabels(7, 700, 64)], [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...fittingLabels(30, 400, 64)], [4, 9, 14, 19, 24, 29]);
  assert.deepEqual([...fittingLabels(1, 0, 64)], [0]);
  assert.deepEqual([...fittingLabels(0, 100, 64)], []);
});
