import assert from "node:assert/strict";
import { rollUp } from "../src/calls/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { add, AT, read, spend } from "./harness/budget_requests.ts";
import { scrape } from "./harness/scrape.ts";
import { openTestPurser } from "./harness/test_purser.ts";

/** Calls that a plan pays for, and the budgets that count them, over the API. */

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

const ACME = { tags: { customer: "acme" } };
const MONTH = { limit_usd: 10, per: "month" };
const PLAN = { billing: "plan", cost_usd: undefined, at: AT };

Deno.test("a budget of a plan counts what its calls would cost by the API, and one without it what is billed", async () => {
  await using purser = await openTestPurser();
  await spend(purser, undefined, { ...PLAN, ...ACME, plan_usd: 1 });
  await rollUp(purser.core);
  await spend(purser, undefined, { ...PLAN, plan_usd: 2 });
  await spend(purser, 4, ACME);
  const budgets = [
    { billing: "plan" },
    { billing: "plan", ...ACME },
    { billing: "plan", ...ACME, per: "hour" },
    { billing: "plan", per: "day", time_zone: "Europe/Berlin" },
    { billing: "billed" },
    {},
  ];
  const ids: string[] = [];
  for (const [index, budget] of budgets.entries()) {
    const added = await add(purser, { name: `Budget ${index}`, ...MONTH, ...budget });
    assert.equal(added.billing, budgets[index]!.billing ?? null);
    ids.push(added.budget_id);
  }
  const spent = async () => await Promise.all(ids.map(async (id) => (await read(purser, id)).spent_usd));
  assert.deepEqual(await spent(), [3, 1, 1, 3, 4, 4]);
  await spend(purser, undefined, { ...PLAN, ...ACME, plan_usd: 0.5 });
  assert.deepEqual(await spent(), [3.5, 1.5, 1.5, 3.5, 4, 4]);
  await rollUp(purser.core);
  assert.deepEqual(await spent(), [3.5, 1.5, 1.5, 3.5, 4, 4]);
  // A report that says later who has paid.
  const later = { call_id: "later", at: AT, ...ACME };
  await spend(purser, 8, later);
  assert.deepEqual(await spent(), [3.5, 1.5, 1.5, 3.5, 12, 12]);
  await spend(purser, undefined, { ...PLAN, ...later, plan_usd: 8 });
  assert.deepEqual(await spent(), [11.5, 9.5, 9.5, 11.5, 4, 4]);
  const each = await add(purser, {
    name: "Each",
    limit_usd: 10,
    per: "week",
    billing: "plan",
    each: "tag:customer",
  });
  assert.deepEqual([each.counter, each.spent_usd], [{ kind: "tag:customer", id: "acme" }, 9.5]);
});

Deno.test("a check and a reservation ask the budgets of a plan, or those of what is billed, by who will pay", async () => {
  await using purser = await openTestPurser();
  await add(purser, { name: "Plan", limit_usd: 0, per: "day", billing: "plan" });
  await add(purser, { name: "Billed", limit_usd: 1, per: "day", billing: "billed" });
  await add(purser, { name: "All", limit_usd: 2, per: "day" });
  const names = async (query: string) =>
    (await purser.api("GET", `/budgets/check${query}`)).body.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names(""), ["All"]);
  assert.deepEqual(await names("?billing=plan"), ["Plan", "All"]);
  assert.deepEqual(await names("?billing=billed"), ["Billed", "All"]);
  const reserve = async (more: object) => {
    const { status, body } = await purser.api("POST", "/budgets/reservations", {
      ...{ agent_id: "a", estimate_usd: 0.01, ...more },
    });
    return [status, body.details?.refused_by[0].name, body.detail];
  };
  assert.equal((await reserve({}))[0], 201);
  const [status, refusedBy, detail] = await reserve({ billing: "plan" });
  assert.deepEqual([status, refusedBy], [402, "Plan"]);
  assert.match(detail, /\$0 per UTC day, plan value\)/);
});

Deno.test("a budget of a plan warns, and a rule of one fires, once its value is reached", async () => {
  await using purser = await openTestPurser();
  await add(purser, { name: "Plan", limit_usd: 10, per: "day", billing: "plan" });
  await add(purser, { name: "Bill", limit_usd: 10, per: "day" });
  for (const threshold_type of ["per_hour_usd", "per_day_usd", "per_session_usd"]) {
    const { status } = await purser.api("POST", "/alerts/rules", {
      ...{ name: threshold_type, threshold_type, threshold_usd: 9, severity: "warning", billing: "plan" },
    });
    assert.equal(status, 201);
  }
  await spend(purser, 7, { session_id: "s" });
  await spend(purser, undefined, { ...PLAN, plan_usd: 7, session_id: "s" });
  assert.deepEqual((await purser.api("GET", "/alerts/history")).body, []);
  await spend(purser, undefined, { ...PLAN, plan_usd: 2, session_id: "s" });
  const { body } = await purser.api("GET", "/alerts/history");
  assert.deepEqual(
    body.map(({ rule_name, value_usd }: Record<string, unknown>) => [rule_name, value_usd]).sort(),
    ["Plan", "per_day_usd", "per_hour_usd", "per_session_usd"].map((name) => [name, 9]),
  );
});
