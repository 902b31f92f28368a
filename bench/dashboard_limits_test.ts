import assert from "node:assert/strict";
import { exceeded } from "./dashboard_limits.ts";

const request = (aloneMs: number) => ({ path: "/costs", aloneMs });

Deno.test("a page at its limits passes, and each limit beyond is named", () => {
  assert.deepEqual(exceeded({ page: "Now", requests: [20, 20, 20].map(request), shownMs: 200 }), []);
  assert.deepEqual(exceeded({ page: "Now", requests: [1, 1, 1, 20.1].map(request), shownMs: 201 }), [
    "Now sends 4 requests; at most 3",
    "Now: /costs takes 20.1 ms; at most 20",
    "Now shows its figures 201 ms after the last answer; at most 200",
  ]);
  assert.equal(exceeded({ page: "Now", requests: [request(NaN)], shownMs: NaN }).length, 2, "not measured");
});
