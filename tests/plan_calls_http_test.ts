import assert from "node:assert/strict";
import { EVENT } from "./harness/bodies.ts";
import { scrape } from "./harness/scrape.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Calls that a plan pays for, over the API. */

const { cost_usd: _cost, ...CALL } = { ...EVENT, session_id: "ses_a", cost_usd: null };

async function openReported() {
  const purser = await openTestPurser();
  const { status } = await purser.api("POST", "/costs/events", [
    { ...CALL, call_id: "plan", billing: "plan", plan_usd: 0.25 },
    { ...CALL, call_id: "priced", billing: "plan", cost_usd: 0 },
    { ...CALL, call_id: "unknown", billing: "plan", model: "no-price" },
    { ...CALL, call_id: "billed", cost_usd: 0.5 },
  ]);
  assert.equal(status, 201);
  return purser;
}

/** 1,000 input tokens and one of output, by the catalog. */
const PRICE = 0.0001506;

Deno.test("a reported call of a plan has its billing and its price by the API, and costs nothing", async () => {
  await using purser = await openReported();
  const { body } = await purser.api("GET", "/sessions/ses_a/costs");
  type Call = { call_id: string; billing?: string; cost_usd: number | null; plan_usd?: number | null };
  const found = new Map((body.calls as Call[]).map((call) => [call.call_id, call]));
  const facts = (id: string) => {
    const { billing, cost_usd, plan_usd } = found.get(id)!;
    return [billing, cost_usd, plan_usd];
  };
  assert.deepEqual(facts("plan"), ["plan", 0, 0.25]);
  assert.deepEqual(facts("priced"), ["plan", 0, PRICE]);
  assert.deepEqual(facts("unknown"), ["plan", null, null]);
  assert.deepEqual(facts("billed"), [undefined, 0.5, undefined]);
  assert.ok(!("plan_usd" in found.get("billed")!));
  assert.deepEqual([body.token_usage.cost_usd, body.token_usage.plan_usd], [0.5, 0.25 + PRICE]);
  const sentBack = (body.calls as object[]).map(({ ...call }) => call);
  const again = await purser.api("POST", "/costs/events", sentBack);
  assert.deepEqual([again.status, again.body.booked, again.body.duplicates], [201, 0, 4]);
});

Deno.test("sums, their CSV and GET /metrics have the plan value beside the cost", async () => {
  await using purser = await openReported();
  const total = (await purser.api("GET", "/costs/total")).body;
  assert.deepEqual([total.cost_usd, total.plan_usd, total.unpriced_calls], [0.5, 0.25 + PRICE, 1]);
  const csv = async (query: string) => {
    const answer = await purser.fetch("GET", `/costs?group_by=model&limit=1${query}`, {
      headers: { accept: "text/csv" },
    });
    return (await answer.text()).split("\r\n")[0]!.split(",");
  };
  assert.ok((await csv("")).includes("plan_usd"));
  assert.ok(!(await csv("&model=no-price")).includes("plan_usd"), "no column without one");
  const { values } = await scrape(purser);
  const labels = "model=gpt-4o-mini provider=openai";
  assert.equal(values[`purser_spend_usd_total ${labels}`], "0.5");
  assert.equal(values[`purser_plan_equivalent_usd_total ${labels}`], "0.2501506");
  await using other = await openTestPurser();
  await other.api("POST", "/costs/events", [CALL]);
  const names = Object.keys((await scrape(other)).values);
  assert.ok(!names.some((name) => name.includes("plan_equivalent")), "without a plan's call there is none");
});

Deno.test("a report of a plan's call with a billed cost, or with a plan value and no plan, is refused", async () => {
  await using purser = await openTestPurser();
  for (
    const [more, path] of [
      [{ billing: "plan", cost_usd: 0.5 }, "[0].cost_usd"],
      [{ plan_usd: 0.5 }, "[0].plan_usd"],
      [{ billing: "invoice" }, "[0].billing"],
    ] as const
  ) {
    const { status, body } = await purser.api("POST", "/costs/events", [{ ...CALL, ...more }]);
    assert.equal(status, 400);
    assert.ok(JSON.stringify(body).includes(path), JSON.stringify(body));
  }
});

Deno.test("a sighting says that a plan pays, and the answer has what was booked of it", async () => {
  await using purser = await openTestPurser();
  const sighting = {
    ref: "msg_1",
    response_id: "msg_012345abcdef",
    provider: "openai",
    model: "gpt-4o-mini",
    at: EVENT.at,
    input_tokens: 1000,
    output_tokens: 1,
    session: "ses_a",
  };
  const origin = { source: "log", name: "claude-code", agent_id: "claude-code" };
  const send = async (more: object) =>
    (await purser.api("POST", "/sightings", { origin, sightings: [{ ...sighting, ...more }] })).body;
  const billed = await send({});
  assert.deepEqual([billed.cost_usd, "plan_usd" in billed], [PRICE, false]);
  const corrected = await send({ billing: "plan" });
  assert.deepEqual([corrected.amended, corrected.cost_usd, corrected.plan_usd], [1, -PRICE, PRICE]);
  const { body } = await purser.api("GET", "/sessions/ses_a/costs");
  const [call] = body.calls;
  assert.deepEqual([call.billing, call.cost_usd, call.plan_usd], ["plan", 0, PRICE]);
  const explained = (await purser.api("GET", `/costs/calls/${call.call_id}`)).body;
  assert.equal(explained.adjustments[0].plan_difference_usd, PRICE);
});
