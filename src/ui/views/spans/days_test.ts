import assert from "node:assert/strict";
import { describeSpan, timeOf } from "./days.ts";

Deno.test("a span of the URL is described by days, and by the minutes of UTC within one", () => {
  const shown: [from: string | undefined, to: string | undefined, text: string][] = [
    ["2026-11-24", undefined, "from 2026-11-24"],
    ["2026-11-01T00:00:00.000Z", undefined, "from 2026-11-01"],
    [undefined, "2026-11-24T14:09:00.000Z", "until 2026-11-24 14:09 UTC"],
    ["2026-11-24T14:09:00.001Z", "2026-11-24T15:09:00.002Z", "on 2026-11-24 from 14:09 to 15:09 UTC"],
    ["2026-11-24T23:00:00.000Z", "2026-11-25", "from 2026-11-24 23:00 UTC to the end of 2026-11-24"],
    ["2026-11-20", "2026-11-25", "from 2026-11-20 to 2026-11-24"],
    ["2026-11-24", "2026-11-25", "on 2026-11-24"],
    [undefined, "2026-11-25", "to the end of 2026-11-24"],
    ["2026-11-24T14:00:00+05:30", undefined, "from 2026-11-24 08:30 UTC"],
    ["soon", undefined, "from soon"],
    [undefined, undefined, ""],
  ];
  for (const [from, to, text] of shown) assert.equal(describeSpan(from, to, "UTC"), text);
  assert.equal(
    describeSpan("2026-11-24T09:00:00Z", "2026-11-24T10:00:00Z", "Europe/Berlin"),
    "on 2026-11-24 from 10:00 to 11:00+01:00 (Europe/Berlin)",
  );
  assert.equal(
    describeSpan("2026-11-23T23:00:00Z", "2026-11-25", "Europe/Berlin"),
    "on 2026-11-24",
  );
});

Deno.test("a time of the URL is a day where it is the start of one", () => {
  const day = Date.parse("2026-11-24");
  assert.deepEqual([timeOf(day, "UTC"), timeOf(day + 1, "UTC")], ["2026-11-24", "2026-11-24T00:00:00.001Z"]);
  assert.equal(timeOf(day - 3_600_000, "Europe/Berlin"), "2026-11-24");
});
