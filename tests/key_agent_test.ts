import assert from "node:assert/strict";
import { type HttpClient, makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/**
 * A key of one agent, on a service with another agent. `mine` and `theirs` have the same resources. Every route with such
 * a key is in `hostile/access_test.ts`.
 */

interface Shared extends AsyncDisposable {
  purser: TestPurser;
  client: HttpClient;
  key: string;
  /** The ids of each agent's resources, by agent. */
  sessions: Record<string, string>;
  runs: Record<string, string>;
  rules: Record<string, string>;
}

const AGENTS = ["mine", "theirs"];

async function share(): Promise<Shared> {
  const purser = await openTestPurser();
  const sessions: Record<string, string> = {};
  const runs: Record<string, string> = {};
  const rules: Record<string, string> = {};
  const rule = { severity: "info", threshold_usd: 0.000001, cooldown_seconds: 0 };
  for (const agent_id of [...AGENTS, undefined]) {
    for (const threshold_type of ["per_day_usd", "per_run_usd"]) {
      const name = `${threshold_type} of ${
        agent_id ?? (threshold_type === "per_run_usd" ? "any run" : "everybody")
      }`;
      const { body } = await purser.api("POST", "/alerts/rules", { ...rule, name, threshold_type, agent_id });
      if (threshold_type === "per_day_usd") rules[agent_id ?? "everybody"] = body.rule_id;
    }
  }
  for (const agent of AGENTS) {
    await purser.api("PUT", `/agents/${agent}`, { model: "demo:echo", system_prompt: `prompt of ${agent}` });
    const run = await purser.api("POST", `/agents/${agent}/runs`, {
      input: `words of ${agent}`,
      session_id: `ses_${agent}`,
    });
    assert.equal(run.status, 200);
    sessions[agent] = run.body.session_id;
    runs[agent] = run.body.run_id;
    await purser.api("POST", "/costs/events", [
      event(agent, { session_id: `loose_${agent}`, run_id: `elsewhere_${agent}` }),
    ]);
  }
  const { key } = await makeKey(purser, ["read", "run"], { agent_id: "mine" });
  return {
    purser,
    client: openHttpClient(purser),
    key,
    sessions,
    runs,
    rules,
    [Symbol.asyncDispose]: () => purser.core.close(),
  };
}

let events = 0;
function event(agent_id: string, more: object = {}) {
  return {
    call_id: `${agent_id}:reported_${++events}`,
    at: "2026-11-01T11:00:00.000Z",
    agent_id,
    provider: "demo",
    model: "echo",
    input_tokens: 1,
    output_tokens: 1,
    ...more,
  };
}

Deno.test("a key of one agent can read and do everything of that agent", async () => {
  await using shared = await share();
  const { client, key, sessions, runs, rules } = shared;
  const get = async (path: string) => {
    const { status, body } = await client.send("GET", path, { key });
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const agentsOf = (rows: { agent_id: string }[]) => [...new Set(rows.map(({ agent_id }) => agent_id))];
  assert.deepEqual((await get("/agents")).map(({ name }: { name: string }) => name), ["mine"]);
  assert.equal((await get("/agents/mine")).token_usage.model_calls, 2);
  assert.deepEqual(agentsOf(await get("/agents/mine/sessions")), ["mine"]);
  assert.deepEqual(agentsOf(await get("/sessions")), ["mine"]);
  const session = `/sessions/${sessions.mine}`;
  for (const part of ["", "/events", "/events/imported", "/costs"]) await get(session + part);
  assert.equal((await get("/sessions/loose_mine/costs")).calls.length, 1);
  assert.equal((await get(`/agents/${sessions.mine}/snapshot?with_events=true`)).agent_id, "mine");
  assert.equal((await get(`/runs/${runs.mine}`)).agent_id, "mine");
  assert.deepEqual(agentsOf(await get("/costs")), ["mine"]);
  assert.equal((await get("/costs/what-if?model=demo:echo&group_by=agent")).rows.length, 1);
  const [{ call_id }] = (await get("/sessions/loose_mine/costs")).calls;
  assert.equal((await get(`/costs/calls/${call_id}`)).call.agent_id, "mine");
  assert.equal((await get("/costs?group_by=session&agent_id=mine")).length, 2);
  assert.equal((await get("/costs?group_by=day"))[0].model_calls, 2);
  await get("/anomalies?agent_id=mine");
  assert.deepEqual(agentsOf(await get("/alerts/rules")), ["mine"]);
  assert.equal((await get(`/alerts/rules/${rules.mine}`)).agent_id, "mine");
  const history = await get("/alerts/history");
  assert.ok(history.length > 0);
  assert.deepEqual(agentsOf(history), ["mine"]);
  const alert = await get(`/alerts/history/${history[0].alert_id}`);
  assert.deepEqual(
    [
      ...agentsOf([...alert.past, ...alert.causes.agents]),
      alert.deliveries.every(({ channel }: { channel: string }) => channel === ""),
    ],
    ["mine", true],
  );
  assert.deepEqual(agentsOf(await get("/runs")), ["mine"]);
  assert.deepEqual(await get("/budgets/refusals"), []);
  assert.equal((await get("/costs/caching?group_by=agent")).rows.length, 1);
  const csv = await client.fetch("GET", "/runs", { key, headers: { accept: "text/csv" } });
  assert.match(await csv.text(), /^run_id,agent_id,[^\r]*\r\n[^,]+,mine,/);

  const run = await client.send("POST", "/agents/mine/runs", {
    key,
    body: { input: "more", session_id: sessions.mine },
  });
  assert.equal(run.status, 200);
  assert.equal((await client.send("POST", `/runs/${runs.mine}/cancel`, { key })).status, 409, "it has ended");
  const body = [
    event("mine", { session_id: sessions.mine, run_id: runs.mine }),
    event("mine", { session_id: "mine:new", run_id: "mine:elsewhere" }),
  ];
  assert.equal((await client.send("POST", "/costs/events", { key, body })).status, 201);
});

Deno.test("the owner or the existence of a session, a run or a rule is not disclosed", async () => {
  await using shared = await share();
  const { purser, client, key, sessions, runs, rules } = shared;
  const { body: { calls: [theirCall] } } = await purser.api("GET", "/sessions/loose_theirs/costs");
  const { body: alerts } = await purser.api("GET", "/alerts/history");
  const theirAlert = alerts.find(({ agent_id }: { agent_id: string }) => agent_id === "theirs");
  const pairs: [string, string, string, string][] = [
    ["GET", "/sessions/X", sessions.theirs!, "ses_nothing"],
    ["GET", "/sessions/X/events", sessions.theirs!, "ses_nothing"],
    ["GET", "/sessions/X/costs", sessions.theirs!, "ses_nothing"],
    ["GET", "/sessions/X/costs", "loose_theirs", "loose_nothing"],
    ["GET", "/costs/calls/X", theirCall.call_id, "call_nothing"],
    ["GET", "/agents/X/snapshot", sessions.theirs!, "ses_nothing"],
    ["GET", "/runs/X", runs.theirs!, "run_nothing"],
    ["POST", "/runs/X/cancel", runs.theirs!, "run_nothing"],
    ["GET", "/alerts/rules/X", rules.theirs!, "rule_nothing"],
    ["GET", "/alerts/rules/X", rules.everybody!, "rule_nothing"],
    ["GET", "/alerts/history/X", theirAlert.alert_id, "alert_nothing"],
  ];
  for (const [method, template, theirs, nothing] of pairs) {
    const answerOf = async (id: string) => {
      const { status, body } = await client.send(method, template.replace("X", id), { key });
      return JSON.stringify([status, body]).replaceAll(id, "X");
    };
    assert.equal(await answerOf(theirs), await answerOf(nothing), template);
    assert.match(await answerOf(theirs), /^\[404,/, template);
  }
});

Deno.test("a filter by another agent, or a run in another agent's session, is refused", async () => {
  await using shared = await share();
  const { client, key, sessions } = shared;
  for (
    const path of [
      "/costs?agent_id=theirs",
      "/anomalies?agent_id=theirs",
      "/runs?agent_id=theirs",
      "/budgets/refusals?agent_id=theirs",
      "/costs/caching?agent_id=theirs",
    ]
  ) {
    const { status, body } = await client.send("GET", path, { key });
    assert.deepEqual([status, body.detail], [
      403,
      "Cannot reach agent theirs: this API key is for agent mine only",
    ]);
  }
  for (const groups of ["group_by=key", "group_by=day&split_by=key"]) {
    const { status, body } = await client.send("GET", `/costs?${groups}`, { key });
    assert.deepEqual([status, body.code], [403, "forbidden"]);
  }
  const { status, body } = await client.send("POST", "/agents/mine/runs", {
    key,
    body: { input: "hi", session_id: sessions.theirs },
  });
  assert.deepEqual([status, body.detail], [403, notMine("session", sessions.theirs!)]);
});

const notMine = (kind: string, id: string) =>
  `Cannot use ${kind} ${id}: this API key is for agent mine only, which has none of that id; a new id has to be mine:NAME`;

Deno.test("a session of several agents' reported calls belongs to none of them, and no run changes that", async () => {
  await using shared = await share();
  const { purser, client, key } = shared;
  for (const agent of AGENTS) {
    await purser.api("POST", "/costs/events", [event(agent, { session_id: "loose_both" })]);
  }
  const costs = () => client.send("GET", "/sessions/loose_both/costs", { key });
  assert.equal((await costs()).status, 404);
  const run = (session_id: string) =>
    client.send("POST", "/agents/mine/runs", { key, body: { input: "hi", session_id } });
  const { status, body } = await run("loose_both");
  assert.deepEqual([status, body.detail], [403, notMine("session", "loose_both")]);
  assert.equal((await costs()).status, 404);
  for (const session of ["loose_mine", "mine:new"]) {
    assert.equal((await run(session)).status, 200, session);
  }
});

Deno.test("a report with a call for another agent, its session or its run is refused as a whole", async () => {
  await using shared = await share();
  const { purser, client, key, sessions, runs } = shared;
  const fine = event("mine");
  const before = (await purser.api("GET", "/costs")).body;
  for (
    const [wrong, what] of [
      [event("theirs"), "agent theirs of event [1]"],
      [event("mine", { session_id: sessions.theirs }), ["session", sessions.theirs!]],
      [event("mine", { session_id: "loose_theirs" }), ["session", "loose_theirs"]],
      [event("mine", { run_id: runs.theirs }), ["run", runs.theirs!]],
      [event("mine", { run_id: "elsewhere_theirs" }), ["run", "elsewhere_theirs"]],
    ] as const
  ) {
    const { status, body } = await client.send("POST", "/costs/events", { key, body: [fine, wrong] });
    const detail = typeof what === "string"
      ? `Cannot reach ${what}: this API key is for agent mine only`
      : notMine(what[0], what[1]);
    assert.deepEqual([status, body.detail], [403, detail]);
  }
  assert.deepEqual((await purser.api("GET", "/costs")).body, before);
});

Deno.test("a key of one agent gets the same answer for an id of another agent and for a free one, and takes none", async () => {
  await using shared = await share();
  const { purser, client, key, sessions, runs } = shared;
  const { body: { calls: [theirCall] } } = await purser.api("GET", "/sessions/loose_theirs/costs");
  const ofLonger = event("mine:b", { call_id: "mine:b:1", session_id: "mine:b:s", run_id: "mine:b:r" });
  assert.equal((await purser.api("POST", "/costs/events", [ofLonger])).status, 201);
  const ids: ["call_id" | "session_id" | "run_id", taken: string, free: string][] = [
    ["call_id", theirCall.call_id, "theirs:reported_999"],
    ["call_id", theirCall.call_id, "next"],
    ["call_id", "mine:b:1", "mine:b:2"],
    ["session_id", sessions.theirs!, "ses_next"],
    ["session_id", "loose_theirs", "theirs:next"],
    ["session_id", "mine:b:s", "mine:b:next"],
    ["session_id", "loose_theirs", "mineral:next"],
    ["session_id", "loose_theirs", "mine.next"],
    ["session_id", "loose_theirs", "mine:"],
    ["run_id", runs.theirs!, "run_next"],
    ["run_id", "elsewhere_theirs", "theirs:next"],
    ["run_id", "mine:b:r", "mine:b:next"],
  ];
  const before = (await purser.api("GET", "/costs")).body;
  for (const [field, taken, free] of ids) {
    const answerOf = async (id: string, body: unknown, path: string) => {
      const answer = await client.send("POST", path, { key, body });
      assert.equal(answer.status, 403, `${field} ${id}`);
      return JSON.stringify(answer.body).replace(` ${id}: `, " X: ");
    };
    const report = (id: string) => answerOf(id, [event("mine", { [field]: id })], "/costs/events");
    assert.equal(await report(taken), await report(free), `${field}: ${taken}, ${free}`);
    if (field !== "session_id") continue;
    const run = (id: string) => answerOf(id, { input: "Hi", session_id: id }, "/agents/mine/runs");
    assert.equal(await run(taken), await run(free), `run in ${taken}, ${free}`);
  }
  assert.deepEqual((await purser.api("GET", "/costs")).body, before, "and nothing was booked");
  // The agent that the ids are for finds them free.
  for (const [field, , free] of ids) {
    const { status, body } = await purser.api("POST", "/costs/events", [event("theirs", { [field]: free })]);
    assert.deepEqual([status, body.booked], [201, 1], `${field} ${free}`);
  }
});

Deno.test("what a key of one agent has reported, it may report again, and its agent's calls of other reporters too", async () => {
  await using shared = await share();
  const { purser, client, key } = shared;
  const report = (body: unknown[]) => client.send("POST", "/costs/events", { key, body });
  const own = event("mine", { session_id: "mine:s" });
  assert.equal((await report([own])).body.booked, 1);
  assert.equal((await report([own])).body.duplicates, 1);
  const ofOthers = event("mine", { call_id: "any name", session_id: "any_session" });
  await purser.api("POST", "/costs/events", [ofOthers]);
  assert.equal((await report([ofOthers])).body.duplicates, 1);
  assert.equal((await report([event("mine", { session_id: "any_session" })])).body.booked, 1);
});

Deno.test("the alerts of a rule for all agents stay hidden from one agent's key after the rule is narrowed", async () => {
  await using shared = await share();
  const { purser, client, key, rules } = shared;
  const countAlerts = async () =>
    (await client.send("GET", "/alerts/history", { key })).body.filter(({ rule_id }: { rule_id: string }) =>
      rule_id === rules.everybody
    ).length;
  await purser.api("PATCH", `/alerts/rules/${rules.everybody}`, { agent_id: "theirs" });
  assert.equal(await countAlerts(), 0);
  purser.clock.advance(1);
  await purser.api("PATCH", `/alerts/rules/${rules.everybody}`, { agent_id: "mine" });
  assert.equal(await countAlerts(), 0);
  purser.clock.advance(1);
  await purser.api("POST", "/agents/mine/runs", { input: "hi" });
  assert.equal(await countAlerts(), 1);
});

Deno.test("the history shows a key of one agent how deliveries went, not the names, hosts and errors of channels", async () => {
  await using shared = await share();
  const { purser, client, key } = shared;
  await purser.core.drainDeliveries();
  await purser.core.store.write([{
    sql: `UPDATE deliveries SET channel = 'pagers', status = 'failed',
      last_error = 'hooks.internal answered 500' WHERE channel = 'log'`,
  }]);
  const all = (await purser.api("GET", "/alerts/history")).body;
  assert.match(JSON.stringify(all), /pagers.*hooks\.internal/);
  const { body: mine } = await client.send("GET", "/alerts/history", { key });
  const [{ delivery_id, ...delivery }] = mine[0].deliveries;
  assert.match(delivery_id, /^dlv_/);
  assert.deepEqual(
    [delivery.channel, delivery.kind, delivery.status, delivery.last_error],
    ["", "log", "failed", null],
  );
  assert.doesNotMatch(JSON.stringify(mine), /pagers|hooks\.internal/);
});

Deno.test("the event stream sends a key of one agent that agent's events alone, and skips the others", async () => {
  await using shared = await share();
  const { purser, client, key } = shared;
  const stream = await client.fetch("GET", "/events?after=0", { key });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  await purser.api("POST", "/agents/theirs/runs", { input: "x".repeat(50) });
  await purser.api("POST", "/agents/mine/runs", { input: "the last words" });
  let text = "";
  while (!text.includes("You said: the last words") || !text.endsWith("\n\n")) {
    text += (await reader.read()).value!;
  }
  await reader.cancel();
  const agents = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!).agent_id);
  assert.ok(agents.length > 8);
  assert.deepEqual([...new Set(agents)], ["mine"]);
});
