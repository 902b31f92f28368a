import assert from "node:assert/strict";
import type { CostRow } from "../../../contract/costs.ts";
import { UTC } from "../../../contract/calendars/zones.ts";
import { spanOf as readSpan } from "../spans/span.ts";
import { findingOf, pointsOf, spenderOf } from "./spend_chart.tsx";

const TODAY = "2026-03-02";

const spanOf = (name: string | null) =>
  readSpan(new URLSearchParams(name === null ? {} : { span: name }), Date.parse(TODAY), UTC, "today");

const spender = (model: string, cost_usd: number | null) =>
  spenderOf({ provider: "openai", model, model_calls: 1, unpriced_calls: 0, cost_usd }, "model", {
    from: TODAY,
  });

Deno.test("spans end today, and begin on a day of UTC", () => {
  const froms = [null, "7d", "month", "all", "nonsense"].map((name) => spanOf(name).from);
  assert.deepEqual(froms, [TODAY, "2026-02-24", "2026-03-01", undefined, TODAY]);
});

Deno.test("a span has a bar for each day, also for one without calls", () => {
  const rows = [{ day: "2026-02-27", agent_id: "a", cost_usd: 1 }, {
    day: "2026-03-02",
    agent_id: "b",
    cost_usd: null,
  }];
  const points = pointsOf(rows as CostRow[], spanOf("all"), "agent", TODAY);
  assert.deepEqual(points.map(({ label, values }) => [label, values]), [
    ["2026-02-27", new Map([["a", 1]])],
    ["2026-02-28", new Map()],
    ["2026-03-01", new Map()],
    ["2026-03-02", new Map([["b", null]])],
  ]);
  assert.equal(points[1]!.href, "/ui/costs?from=2026-02-28&to=2026-03-01");
  assert.equal(pointsOf([], spanOf(null), "agent", TODAY).length, 24);
});

Deno.test("a bar has the value of a name that every object has as a property", () => {
  const rows = [{ day: "2026-03-01", agent_id: "constructor", cost_usd: 1 }, {
    day: "2026-03-02",
    agent_id: "toString",
    cost_usd: 2,
  }];
  const points = pointsOf(rows as CostRow[], spanOf("all"), "agent", TODAY);
  const shown = points.map(({ values }) => [values.get("constructor"), values.get("toString")]);
  assert.deepEqual(shown, [[1, undefined], [undefined, 2]]);
});

Deno.test("the finding says the sum and the largest part of it, and which bars are not drawn", () => {
  const of = spanOf(null);
  const say = (total: number | null, ...costs: (number | null)[]) =>
    findingOf({
      total,
      spenders: costs.map((cost, index) => spender(`m${index}`, cost)),
      span: of,
      group: "model",
    });
  assert.equal(say(0), "Nothing was spent today.");
  assert.equal(say(null, null), "No call today has a known price.");
  assert.equal(say(4, 3, 1), "$4.00 today, 75% of it openai:m0.");
  assert.equal(say(0, 0), "$0 today.");
  assert.match(
    say(8, 1, 1, 1, 1, 1, 1, 1, 1),
    /the 6 models with the most of it; 2 more are in the table\.$/,
  );
});
