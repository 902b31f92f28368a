import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const AGENT = { model: "demo:echo" };
const EVENT = {
  call_id: "c1",
  at: "2026-11-01T11:00:00.000Z",
  agent_id: "elsewhere",
  provider: "openai",
  model: "gpt-4o-mini",
  input_tokens: 1000,
  output_tokens: 1,
};

async function assertProblem(purser: TestPurser, method: string, path: string, body: unknown, expected: {
  status: number;
  code: string;
  path?: string;
  detail?: RegExp;
}, headers?: HeadersInit) {
  const answer = await purser.api(method, path, body, headers);
  const where = `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)} -> ${JSON.stringify(answer.body)}`;
  assert.equal(answer.status, expected.status, where);
  assert.equal(answer.headers.get("content-type"), "application/problem+json", where);
  assert.equal(answer.body.code, expected.code, where);
  assert.equal(answer.body.status, expected.status, where);
  assert.equal(answer.body.instance, path.split("?")[0], where);
  if (expected.detail) assert.match(answer.body.detail, expected.detail);
  if (expected.path !== undefined) {
    const paths = answer.body.details.issues.map((issue: { path: string }) => issue.path);
    assert.ok(paths.includes(expected.path), `${expected.path} is not among ${paths}: ${where}`);
  }
  return answer;
}

Deno.test("an agent is defined, read, replaced, listed and removed", async () => {
  await using purser = await openTestPurser();
  const full = {
    name: "a",
    model: "demo:loop",
    system_prompt: "Count.",
    cost_budget_usd: 0.000000001,
    budget_mode: "strict",
    allow_unpriced: true,
    max_steps: 7,
    max_output_tokens: 100,
    tools: ["calculator"],
  };
  const created = await purser.api("PUT", "/agents/a", full);
  assert.equal(created.status, 201);
  const at = "2026-11-01T12:00:00.000Z";
  assert.deepEqual(created.body, { agent_id: "a", ...full, created_at: at, updated_at: at });
  purser.clock.advance(1);
  const replaced = await purser.api("PUT", "/agents/a", AGENT);
  assert.equal(replaced.status, 200);
  assert.deepEqual(replaced.body, {
    agent_id: "a",
    name: "a",
    model: "demo:echo",
    system_prompt: "",
    cost_budget_usd: null,
    budget_mode: "stop",
    allow_unpriced: false,
    max_steps: 20,
    max_output_tokens: null,
    tools: [],
    created_at: at,
    updated_at: "2026-11-01T12:00:00.001Z",
  });
  assert.deepEqual((await purser.api("GET", "/agents")).body, [replaced.body]);
  const { token_usage, ...read } = (await purser.api("GET", "/agents/a")).body;
  assert.deepEqual(read, replaced.body);
  assert.deepEqual([token_usage.model_calls, token_usage.cost_usd, token_usage.model], [0, 0, null]);
  assert.equal((await purser.api("DELETE", "/agents/a")).status, 204);
  assert.equal((await purser.api("DELETE", "/agents/a")).status, 404);
});

Deno.test("removing an agent keeps its sessions and what it has cost", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", AGENT);
  await purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
  await purser.api("DELETE", "/agents/a");
  assert.equal((await purser.api("GET", "/sessions/s1")).status, 200);
  assert.equal((await purser.api("GET", "/agents/a/sessions")).body.length, 1);
  assert.equal((await purser.api("GET", "/costs")).body[0].model_calls, 1);
  assert.equal((await purser.api("POST", "/agents/a/runs", { input: "Hi" })).status, 404);
});

Deno.test("what is not there is 404, whatever its id looks like", async () => {
  await using purser = await openTestPurser();
  const ids = [
    "nobody",
    "a%2Fb",
    "%00",
    "%zz",
    "constructor",
    "__proto__",
    "%F0%9F%92%B8",
    "x".repeat(500),
    "'--",
  ];
  for (const id of ids) {
    const paths = [
      `/agents/${id}`,
      `/sessions/${id}`,
      `/sessions/${id}/events`,
      `/sessions/${id}/costs`,
      `/runs/${id}`,
    ];
    for (const path of paths) assert.equal((await purser.api("GET", path)).status, 404, path);
    assert.equal((await purser.api("POST", `/agents/${id}/runs`, { input: "Hi" })).status, 404, id);
    assert.equal((await purser.api("POST", `/runs/${id}/cancel`)).status, 404, id);
    assert.deepEqual((await purser.api("GET", `/agents/${id}/sessions`)).body, []);
  }
});

Deno.test("an unknown path is a 404 problem, a method that a path has not a 405 that names those it has", async () => {
  await using purser = await openTestPurser();
  for (const path of ["/nowhere", "/agents/a/b/c", "//agents", "/agents/", "/costs/", "/runs"]) {
    await assertProblem(purser, "GET", path, undefined, { status: 404, code: "not_found" });
  }
  const wrong = {
    "DELETE /agents": "GET",
    "POST /agents/a": "DELETE, GET, PUT",
    "GET /agents/a/runs": "POST",
    "PATCH /costs": "GET",
    "PUT /costs/events": "POST",
    "GET /runs/r/cancel": "POST",
    "POST /openapi.json": "GET",
  };
  for (const [request, allowed] of Object.entries(wrong)) {
    const [method, path] = request.split(" ") as [string, string];
    const { headers } = await assertProblem(purser, method, path, undefined, {
      status: 405,
      code: "method_not_allowed",
    });
    assert.equal(headers.get("allow"), allowed, request);
  }
});

Deno.test("a body that is not JSON is 400, one that does not say so 415, one too large 413", async () => {
  await using purser = await openTestPurser({ config: { maxBodyBytes: 1_000 } });
  await purser.api("PUT", "/agents/a", AGENT);
  for (
    const [method, path] of [["PUT", "/agents/a"], ["POST", "/agents/a/runs"], [
      "POST",
      "/costs/events",
    ]] as const
  ) {
    for (const text of ["", "{", "nonsense", '{"model": undefined}', "\u0000", '{"a":1}}']) {
      const detail = text === "" ? undefined : /^Cannot read the body: it is not JSON$/;
      await assertProblem(purser, method, path, text, { status: 400, code: "invalid", detail });
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]) {
      const expected = { status: 415, code: "unsupported_media_type" };
      await assertProblem(purser, method, path, "{}", expected, { "content-type": type });
    }
    const expected = { status: 413, code: "too_large", detail: /over 1000 bytes/ };
    await assertProblem(purser, method, path, JSON.stringify({ model: "x".repeat(1_000) }), expected);
  }
  for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"]) {
    const { status } = await purser.api("PUT", "/agents/a", AGENT, { "content-type": type });
    assert.equal(status, 200, type);
  }
});

/** Values that do not fit, by the path of the field in the body. */
const text = [null, 1, true, [], {}];
const flag = [null, 1, "true", [], {}];
const count = [null, "1", -1, 1.5, true, [], {}, 1e300];
const WRONG: Record<
  string,
  { method: string; path: string; good: object; fields: Record<string, unknown[]> }
> = {
  agents: {
    method: "PUT",
    path: "/agents/a",
    good: AGENT,
    fields: {
      name: [...text],
      model: [...text, ""],
      system_prompt: [...text, "\u0000"],
      cost_budget_usd: ["1", -1, 1e-10, 0.1234567891, 1e10, true, [], {}],
      budget_mode: [...text, "hard", "STOP"],
      allow_unpriced: flag,
      max_steps: [...count, 0, 1001],
      max_output_tokens: ["1", 0, -1, 1.5, 1e8, true],
      tools: [null, "calculator", { 0: "calculator" }, 1],
    },
  },
  runs: {
    method: "POST",
    path: "/agents/a/runs",
    good: { input: "Hi" },
    fields: { input: text, session_id: [...text, "", "-", "a b", "x".repeat(129), "a\n"] },
  },
};

for (const [name, { method, path, good, fields }] of Object.entries(WRONG)) {
  Deno.test(`every field of ${name} refuses what does not fit, and names itself`, async () => {
    await using purser = await openTestPurser();
    await purser.api("PUT", "/agents/a", AGENT);
    for (const [field, values] of Object.entries(fields)) {
      for (const value of values) {
        await assertProblem(purser, method, path, { ...good, [field]: value }, {
          status: 400,
          code: "invalid",
          path: field,
        });
      }
    }
    for (const body of [null, [], "text", 1, true]) {
      await assertProblem(purser, method, path, JSON.stringify(body), { status: 400, code: "invalid" });
    }
    const detail = /"?surprise"?/;
    await assertProblem(purser, method, path, { ...good, surprise: 1 }, {
      status: 400,
      code: "invalid",
      detail,
    });
    const proto = JSON.stringify(good).replace("{", '{"__proto__": {}, ');
    await assertProblem(purser, method, path, proto, { status: 400, code: "invalid" });
    assert.deepEqual((await purser.api("GET", "/sessions")).body, []);
  });
}

Deno.test("every field of a cost event refuses what does not fit, and names itself with its index", async () => {
  await using purser = await openTestPurser();
  const label = [...text, "", "x".repeat(201), "a\u0000b", "a\nb", "\ud800"];
  const optional = (values: unknown[]) => values.filter((value) => value !== null);
  const fields: Record<string, unknown[]> = {
    call_id: label,
    at: [...text, "yesterday", "2026-11-01", "2026-11-01T11:00:00", "2026-13-01T00:00:00Z"],
    agent_id: [...text, "", "a b"],
    session_id: optional([...text, "", "a b"]),
    run_id: optional([...text, "a/b"]),
    step: optional(count),
    tools: [null, "calculator", [1], [""]],
    provider: label,
    model: label,
    input_tokens: count,
    output_tokens: count,
    cache_read_tokens: count,
    cache_write_tokens: count,
    cache_write_1h_tokens: count,
    reasoning_tokens: count,
    total_tokens: [...count, 1],
    cost_usd: ["1", -1, 1e10, true],
    price_source: text,
    duration_ms: ["1", -1, true],
    estimated: flag,
  };
  for (const [field, values] of Object.entries(fields)) {
    for (const value of values) {
      const issue = Array.isArray(value) && value.length > 0 ? `[1].${field}[0]` : `[1].${field}`;
      await assertProblem(purser, "POST", "/costs/events", [EVENT, {
        ...EVENT,
        call_id: "c2",
        [field]: value,
      }], {
        status: 400,
        code: "invalid",
        path: issue,
      });
    }
  }
  const late = { ...EVENT, at: "2026-11-01T12:05:00.001Z" };
  await assertProblem(purser, "POST", "/costs/events", [late], {
    status: 400,
    code: "invalid",
    path: "[0].at",
  });
  const more = { ...EVENT, cache_read_tokens: 1001 };
  await assertProblem(purser, "POST", "/costs/events", [more], { status: 400, code: "invalid", path: "[0]" });
  const many = Array.from({ length: 1001 }, (_, i) => ({ ...EVENT, call_id: `c${i}` }));
  await assertProblem(purser, "POST", "/costs/events", many, { status: 400, code: "invalid" });
  assert.deepEqual((await purser.api("GET", "/costs")).body, []);
});

Deno.test("reports are booked once, priced here or as they say, and conflicts book nothing", async () => {
  await using purser = await openTestPurser();
  const reported = { ...EVENT, call_id: "c2", cost_usd: 0.00000000050001 };
  const first = await purser.api("POST", "/costs/events", [EVENT, reported, EVENT]);
  assert.equal(first.status, 201);
  assert.deepEqual(first.body, { booked: 2, duplicates: 1, unpriced: 0 });
  const again = await purser.api("POST", "/costs/events", [EVENT]);
  assert.deepEqual(again.body, { booked: 0, duplicates: 1, unpriced: 0 });
  const conflict = await assertProblem(purser, "POST", "/costs/events", [
    { ...EVENT, call_id: "c3" },
    { ...EVENT, output_tokens: 2 },
  ], { status: 409, code: "conflict" });
  assert.equal(conflict.body.details.call_id, "c1");
  const { body: [row] } = await purser.api("GET", "/costs");
  assert.equal(row.model_calls, 2);
  assert.equal(row.cost_usd, 0.000150601);
  assert.deepEqual((await purser.api("POST", "/costs/events", [])).body, {
    booked: 0,
    duplicates: 0,
    unpriced: 0,
  });
});

Deno.test("names that an agent may not have, models and tools that are not known: 400 that says which", async () => {
  await using purser = await openTestPurser();
  for (const id of ["snapshot", "-a", "a%20b", "a%2Fb", "x".repeat(129), "%C3%A4"]) {
    await assertProblem(purser, "PUT", `/agents/${id}`, AGENT, { status: 400, code: "invalid" }).catch(
      (error) => {
        // The instance is the decoded path where that is text.
        if (!/%|instance/.test(String(error))) throw error;
      },
    );
  }
  const bad = { status: 400, code: "invalid" };
  await assertProblem(purser, "PUT", "/agents/a", { ...AGENT, name: "b" }, { ...bad, path: "name" });
  await assertProblem(purser, "PUT", "/agents/a", { model: "llama-3" }, {
    ...bad,
    detail: /provider is not clear/,
  });
  await assertProblem(purser, "PUT", "/agents/a", { model: "nobody:x" }, {
    ...bad,
    detail: /nobody is not known/,
  });
  await assertProblem(purser, "PUT", "/agents/a", { ...AGENT, tools: ["hammer"] }, {
    ...bad,
    detail: /hammer/,
  });
  await assertProblem(purser, "PUT", "/agents/a", { ...AGENT, tools: ["__proto__"] }, {
    ...bad,
    detail: /__proto__/,
  });
});

Deno.test("queries refuse what they do not know and what does not fit", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", AGENT);
  await purser.api("POST", "/agents/a/runs", { input: "Hi", session_id: "s1" });
  const wrong = [
    "/sessions?limit=0",
    "/sessions?limit=1001",
    "/sessions?limit=",
    "/sessions?limit=1e2",
    "/sessions?limit=ten",
    "/sessions?limit=1&limit=2",
    "/sessions?cursor=nonsense",
    "/sessions?cursor=W10",
    "/sessions?cursor=bnVsbA",
    "/sessions?agent=a",
    "/agents/a/sessions?limit=-1",
    "/sessions/s1/events?after=-1",
    "/sessions/s1/events?after=1.5",
    "/sessions/s1/events?limit=1001",
    "/sessions/s1/costs?cursor=e30",
    "/sessions/s1/costs?limit=0",
    "/costs?group_by=colour",
    "/costs?groupby=agent",
    "/costs?from=yesterday",
    "/costs?from=2026-11-02&to=2026-11-01",
    "/costs?cursor=LTE",
    "/costs?limit=1001",
    "/events?after=x",
  ];
  for (const path of wrong) {
    await assertProblem(purser, "GET", path, undefined, { status: 400, code: "invalid" });
  }
});

/** Follows `Link` to its end. */
async function readPages(purser: TestPurser, path: string): Promise<{ bodies: unknown[]; pages: number }> {
  const bodies: unknown[] = [];
  for (let next: string | undefined = path; next;) {
    const { status, body, headers } = await purser.api("GET", next);
    assert.equal(status, 200);
    bodies.push(body);
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  return { bodies, pages: bodies.length };
}

Deno.test("following Link to its end gives every row exactly once", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/a", { ...AGENT, tools: ["calculator"] });
  for (let i = 0; i < 7; i++) {
    // Several at one time: the cursor has to tell them apart.
    if (i % 3 === 0) purser.clock.advance(1);
    await purser.api("POST", "/agents/a/runs", { input: "What is 2 + 2?", session_id: `s${i}` });
    await purser.api("POST", "/agents/a/runs", { input: "What is 3 + 3?", session_id: "long" });
  }
  for (
    const path of [
      "/sessions?limit=3",
      "/agents/a/sessions?limit=3",
      "/sessions?limit=4",
      "/sessions?limit=1",
    ]
  ) {
    const { bodies } = await readPages(purser, path);
    const ids = bodies.flat().map((row) => (row as { session_id: string }).session_id);
    assert.deepEqual(ids.toSorted(), ["long", "s0", "s1", "s2", "s3", "s4", "s5", "s6"], path);
    const times = bodies.flat().map((row) => (row as { updated_at: string }).updated_at);
    assert.deepEqual(times, times.toSorted().reverse(), path);
  }
  const runs = (await readPages(purser, "/costs?group_by=run&limit=3")).bodies.flat();
  assert.equal(new Set(runs.map((row) => (row as { run_id: string }).run_id)).size, 14);
  assert.equal(runs.length, 14);
  const { bodies: costs } = await readPages(purser, "/sessions/long/costs?limit=4");
  const calls = costs.flatMap((page) => (page as { calls: { call_id: string }[] }).calls);
  assert.equal(calls.length, 14);
  assert.equal(new Set(calls.map(({ call_id }) => call_id)).size, 14);
  const all = (await purser.api("GET", "/sessions/long/events")).body;
  const parts = [];
  for (let after = 0;;) {
    const { body } = await purser.api("GET", `/sessions/long/events?after=${after}&limit=5`);
    if (body.length === 0) break;
    parts.push(...body);
    after = body.at(-1).seq;
  }
  assert.deepEqual(parts, all);
  assert.equal(all.length, 57);
});

Deno.test("costs can be asked by time and by agent", async () => {
  await using purser = await openTestPurser();
  const at = (hour: number) => `2026-10-31T${String(hour).padStart(2, "0")}:30:00.000Z`;
  const events = [21, 22, 23].map((hour) => ({ ...EVENT, call_id: `c${hour}`, at: at(hour) }));
  await purser.api("POST", "/costs/events", [...events, { ...EVENT, call_id: "other", agent_id: "other" }]);
  const ask = async (query: string) => (await purser.api("GET", `/costs?${query}`)).body;
  assert.equal((await ask("agent_id=elsewhere"))[0].model_calls, 3);
  assert.equal((await ask("from=2026-11-01"))[0].agent_id, "other");
  assert.equal((await ask(`from=${at(22)}&to=${at(23)}`))[0].model_calls, 1);
  assert.equal((await ask("from=2026-11-01T01:30:00%2B02:00&agent_id=elsewhere"))[0].model_calls, 1);
  assert.deepEqual((await ask("group_by=day")).map((row: { day: string }) => row.day), [
    "2026-11-01",
    "2026-10-31",
  ]);
});

Deno.test("a fault of the server is a 500 with a request id that the log has, and no inner message", async () => {
  await using purser = await openTestPurser();
  purser.core.store.read = () => Promise.reject(new TypeError("the secret of the disk"));
  const { body } = await assertProblem(purser, "GET", "/readyz", undefined, {
    status: 500,
    code: "internal",
  });
  assert.doesNotMatch(JSON.stringify(body), /secret/);
  const line = purser.logs.find(({ fields }) => fields.request_id === body.details.request_id)!;
  assert.equal(line.fields.reason, "the secret of the disk");
  assert.match(body.detail, new RegExp(body.details.request_id));
});

Deno.test("a database that is closed makes a 503", async () => {
  const purser = await openTestPurser();
  await purser.core.close();
  await assertProblem(purser, "GET", "/readyz", undefined, { status: 503, code: "unavailable" });
  await assertProblem(purser, "GET", "/agents", undefined, { status: 503, code: "unavailable" });
  assert.equal((await purser.api("GET", "/healthz")).status, 200);
});

Deno.test("the OpenAPI document covers every route of the app, and HEAD is answered as GET", async () => {
  await using purser = await openTestPurser();
  const { body } = await purser.api("GET", "/openapi.json");
  const declared = Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.keys(operations as object).map((method) => `${method.toUpperCase()} ${path}`)
  );
  const routes = purser.app.routes.filter(({ method, path }) => method !== "ALL" && path !== "/")
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
  assert.deepEqual([...new Set(routes)].sort(), declared.sort());
  assert.equal((await purser.fetch("HEAD", "/agents")).status, 200);
  assert.equal((await purser.app.request("/")).headers.get("location"), "/docs");
  const { body: page } = await purser.api("GET", "/docs");
  for (const path of Object.keys(body.paths)) assert.ok(page.includes(`<code>${path}</code>`), path);
});

Deno.test("a provider's failure and a budget's end are told by the API as by the library", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  await using purser = await openTestPurser({ fake });
  fake.enqueue({ status: 401, message: "Wrong key" });
  await purser.api("PUT", "/agents/a", { model: "claude-haiku-4-5" });
  const { body } = await assertProblem(purser, "POST", "/agents/a/runs", { input: "Hi" }, {
    status: 502,
    code: "provider_error",
    detail: /status 401: Wrong key$/,
  });
  assert.match(body.run_id, /^run_/);
  assert.match(body.session_id, /^ses_/);
});
