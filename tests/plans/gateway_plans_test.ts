import assert from "node:assert/strict";
import { readPlanWindows } from "../../src/plans/mod.ts";
import { openHttpClient } from "../harness/http_client.ts";
import { openTestPurser, type TestPurser } from "../harness/test_purser.ts";
import { startPlainProvider } from "../gateway/plain_provider.ts";

/** The plan windows in the headers of answers that pass through the gateway, and keys that stop before paid credits. */

const UNIFIED = "anthropic-ratelimit-unified-";
const seconds = (time: number) => String(Math.round(time / 1000));
const MODEL = "claude-haiku-4-5-20251001";
const BODY = { model: MODEL, max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };
const ANSWER = {
  id: "msg_01",
  type: "message",
  role: "assistant",
  model: MODEL,
  content: [{ type: "text", text: "4" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 10, output_tokens: 5 },
};
const EVENTS = `event: message_start\ndata: ${
  JSON.stringify({ type: "message_start", message: { ...ANSWER, content: [] } })
}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

const RESPONSE = {
  id: "resp_01",
  object: "response",
  status: "completed",
  model: "gpt-5",
  output: [],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};

/** A gateway over a provider whose answers have `headers`, and keys by their names. */
async function withGateway(
  test: (ctx: {
    purser: TestPurser;
    headers: Record<string, string>;
    call(key: string, more?: object): Promise<Response>;
    newKey(body: object): Promise<string>;
    windows(): Promise<[string, number | null, string | undefined][]>;
    writes(): number;
    asked(): number;
    now(): number;
  }) => Promise<void>,
): Promise<void> {
  const headers: Record<string, string> = {};
  await using provider = startPlainProvider(({ path, body }) => {
    const { status = "200", ...rest } = headers;
    if (path.endsWith("/responses")) return Response.json(RESPONSE, { headers: rest });
    const isStreamed = body.includes('"stream":true');
    return isStreamed
      ? new Response(EVENTS, { headers: { ...rest, "content-type": "text/event-stream" } })
      : Response.json(
        Number(status) === 200 ? ANSWER : { type: "error", error: { type: "rate_limit_error" } },
        {
          status: Number(status),
          headers: rest,
        },
      );
  });
  await using purser = await openTestPurser({ fake: provider });
  const { raw } = openHttpClient(purser);
  let writes = 0;
  const { store } = purser.core;
  const write = store.write.bind(store);
  store.write = (statements, ...rest) => {
    if (statements.some(({ sql }) => /INSERT INTO plan_windows/.test(sql))) writes++;
    return write(statements, ...rest);
  };
  await test({
    purser,
    headers,
    call: async (key, more = {}) => {
      const answer = await raw("POST", "/anthropic/v1/messages", { key, body: { ...BODY, ...more } });
      const text = await answer.text();
      await purser.core.store.write([{ sql: "SELECT 1" }]); // after what was written before
      return new Response(text, { status: answer.status, headers: answer.headers });
    },
    newKey: async (body) => (await purser.api("POST", "/keys", { scopes: ["call"], ...body })).body.key,
    windows: async () =>
      (await readPlanWindows(purser.core)).map((
        { window, usedPercent, status },
      ) => [window, usedPercent, status]),
    writes: () => writes,
    asked: () => provider.requests.length,
    now: () => purser.core.clock.now(),
  });
}

const open = (now: number, used = "0.25") => ({
  [`${UNIFIED}status`]: "allowed",
  [`${UNIFIED}5h-status`]: "allowed",
  [`${UNIFIED}5h-utilization`]: used,
  [`${UNIFIED}5h-reset`]: seconds(now + 3_600_000),
  "anthropic-organization-id": "org_1",
});

Deno.test("the windows in the headers of an answer are recorded after it, under the key of the call, and only where they changed", () =>
  withGateway(async ({ purser, headers, call, newKey, windows, writes, now }) => {
    const key = await newKey({ name: "laptop" });
    assert.equal((await call(key)).status, 200);
    assert.deepEqual([await windows(), writes()], [[], 0]);
    Object.assign(headers, open(now()));
    for (const stream of [false, true, false]) {
      const answer = await call(key, { stream });
      assert.equal(answer.headers.get(`${UNIFIED}5h-utilization`), "0.25");
    }
    assert.deepEqual([await windows(), writes()], [[["five_hour", 25, "allowed"]], 1]);
    headers[`${UNIFIED}5h-utilization`] = "0.26";
    await call(key, { stream: true });
    assert.deepEqual([await windows(), writes()], [[["five_hour", 26, "allowed"]], 2]);
    const { body: [listed] } = await purser.api("GET", "/plans");
    const { agent_id, source, provider, account, key_id, machine } = listed;
    const { body: [{ key_id: id }] } = await purser.api("GET", "/keys?name=laptop");
    assert.deepEqual([agent_id, source, provider, account, key_id, machine], [
      "claude-code",
      "gateway",
      "anthropic",
      "org_1",
      id,
      null,
    ]);
  }));

Deno.test("a plan pays for a call whose answer has its windows, until its quota has ended: paid credits are billed", () =>
  withGateway(async ({ purser, headers, call, newKey, now }) => {
    const key = await newKey({ name: "laptop" });
    const total = async () => (await purser.api("GET", "/costs/total")).body;
    await call(key);
    const { cost_usd: each, plan_usd } = await total();
    assert.deepEqual([each > 0, plan_usd], [true, undefined]);
    Object.assign(headers, open(now()));
    for (const stream of [false, true]) await call(key, { stream });
    const { cost_usd, plan_usd: value, model_calls } = await total();
    assert.deepEqual([cost_usd, model_calls, value > each], [each, 3, true]);
    const { body: [window] } = await purser.api("GET", "/plans");
    assert.equal(window.plan_usd, value);
    headers[`${UNIFIED}overage-in-use`] = "true";
    await call(key);
    const after = await total();
    assert.deepEqual([after.cost_usd, after.plan_usd], [2 * each, value]);
  }));

Deno.test("a key stops before a plan's paid credits, in the form of its wire, until the window resets or it is changed", () =>
  withGateway(async ({ purser, headers, call, newKey, windows, asked, now }) => {
    const careful = await newKey({ name: "careful", stop_before_credits: true });
    const other = await newKey({ name: "other" });
    Object.assign(headers, open(now(), "0.99"));
    assert.equal((await call(careful)).status, 200);
    Object.assign(headers, open(now(), "1.01"), {
      [`${UNIFIED}status`]: "rejected",
      [`${UNIFIED}5h-status`]: "rejected",
      [`${UNIFIED}representative-claim`]: "five_hour",
      [`${UNIFIED}overage-status`]: "allowed",
      [`${UNIFIED}overage-in-use`]: "true",
    });
    assert.equal((await call(other)).status, 200, "it spends credits");
    const before = asked();
    const refused = await call(careful);
    const { error } = await refused.json();
    assert.equal(refused.status, 402);
    assert.equal(refused.headers.get("x-should-retry"), "false");
    assert.equal(error.type, "billing_error");
    assert.match(
      error.message,
      /^Cannot make the call: the five_hour window of the claude-code plan is used up \(101%\) until \d{4}-.*Z, so that it would spend paid credits; the API key careful stops before/,
    );
    assert.equal(error.details.plan_window, "five_hour");
    assert.equal(asked(), before, "the provider isn't asked");
    assert.deepEqual((await windows()).find(([name]) => name === "five_hour"), [
      "five_hour",
      101,
      "rejected",
    ]);
    const { body: [{ key_id }] } = await purser.api("GET", "/keys?name=careful");
    const change = (stop_before_credits: boolean) =>
      purser.api("PATCH", `/keys/${key_id}`, { stop_before_credits });
    assert.equal((await change(false)).body.stop_before_credits, false);
    assert.equal((await call(careful)).status, 200);
    await change(true);
    assert.equal((await call(careful)).status, 402);
  }));

Deno.test("the windows of Codex are those of its headers, and a key stops in the form of OpenAI's errors", () =>
  withGateway(async ({ purser, headers, newKey, windows, asked, now }) => {
    const key = await newKey({ name: "codex", stop_before_credits: true });
    const { raw } = openHttpClient(purser);
    const call = () => raw("POST", "/openai/v1/responses", { key, body: { model: "gpt-5", input: "Hi" } });
    Object.assign(headers, {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": seconds(now() + 3_600_000),
      "x-codex-credits-has-credits": "true",
    });
    const first = await call();
    assert.equal(first.status, 200);
    await first.body?.cancel();
    const refused = await call();
    assert.equal(refused.status, 402);
    assert.match((await refused.json()).error.message, /the five_hour window of the codex plan is used up/);
    assert.equal(asked(), 1);
    assert.deepEqual(await windows(), [["five_hour", 100, undefined], ["credits", null, undefined]]);
  }));

Deno.test("a key without the scope call can't stop before credits", () =>
  withGateway(async ({ purser }) => {
    const { status, body } = await purser.api("POST", "/keys", {
      name: "reader",
      scopes: ["read"],
      stop_before_credits: true,
    });
    assert.deepEqual([status, body.errors?.[0]?.path ?? body.details?.issues?.[0]?.path], [
      400,
      "stop_before_credits",
    ]);
  }));

Deno.test("a budget of a plan refuses the next call that goes by it, and one of what is billed lets it pass", () =>
  withGateway(async ({ purser, headers, call, newKey, asked, now }) => {
    const key = await newKey({ name: "laptop" });
    const add = async (name: string, limit_usd: number, billing: string) => {
      const budget = { name, limit_usd, per: "day", billing };
      assert.equal((await purser.api("POST", "/budgets", budget)).status, 201);
    };
    await add("Plan", 0.000001, "plan");
    // Who pays is known from the first answer on.
    Object.assign(headers, open(now()));
    assert.equal((await call(key)).status, 200);
    await add("Bill", 0, "billed");
    const refusal = await call(key);
    assert.equal(refusal.status, 402);
    assert.match(await refusal.text(), /the budget “Plan” \(\$0\.000001 per UTC day, plan value\)/);
    assert.equal(asked(), 1);
    // A process that has just begun knows it from the windows of the plan.
    purser.core.gateway.plans.clear();
    assert.match(await (await call(key)).text(), /the budget “Plan”/);
    const { body: [plan] } = await purser.api("GET", "/budgets?name=Plan");
    await purser.api("PATCH", `/budgets/${plan.budget_id}`, { limit_usd: 1 });
    headers[`${UNIFIED}5h-status`] = headers[`${UNIFIED}status`] = "rejected";
    assert.equal((await call(key)).status, 200);
    assert.match(await (await call(key)).text(), /the budget “Bill” \(\$0 per UTC day, billed calls\)/);
    assert.equal(asked(), 2);
  }));
