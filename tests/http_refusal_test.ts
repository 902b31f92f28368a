import assert from "node:assert/strict";
import { assertProblem } from "./harness/assert_problem.ts";
import { AGENT, EVENT } from "./harness/bodies.ts";
import { openTestPurser } from "./harness/test_purser.ts";

Deno.test("a body that is not JSON is 400, one without its content type 415, one too large 413", async () => {
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

/** Invalid values, by the path of the field in the body. */
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
  Deno.test(`an invalid value in any field of ${name} is refused, naming the field`, async () => {
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
    const detail = /: surprise: is not known$/;
    await assertProblem(purser, method, path, { ...good, surprise: 1 }, {
      status: 400,
      code: "invalid",
      path: "surprise",
      detail,
    });
    const proto = JSON.stringify(good).replace("{", '{"__proto__": {}, ');
    await assertProblem(purser, method, path, proto, { status: 400, code: "invalid" });
    assert.deepEqual((await purser.api("GET", "/sessions")).body, []);
  });
}

Deno.test("an invalid value in any field of a cost event is refused, naming the field and the index", async () => {
  await using purser = await openTestPurser();
  const label = [...text, "", "x".repeat(201), "a\u0000b", "a\nb", "\ud800"];
  const optional = (values: unknown[]) => values.filter((value) => value !== null);
  const fields: Record<string, unknown[]> = {
    call_id: label,
    at: [...text, "yesterday", "2026-11-01", "2026-11-01T11:00:00", "2026-13-01T00:00:00Z"],
    agent_id: [...text, "", "a b", "snapshot"],
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
    cost_usd: ["1", -1, 1_000_000.01, 1e10, true],
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

Deno.test("invalid names of agents, unknown models and unknown tools are 400, naming each", async () => {
  await using purser = await openTestPurser();
  for (const id of ["snapshot", "-a", "a%20b", "a%2Fb", "x".repeat(129), "%C3%A4"]) {
    await assertProblem(purser, "PUT", `/agents/${id}`, AGENT, { status: 400, code: "invalid" }).catch(
      (error) => {
        // The instance is the decoded path if that is valid text.
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
  await assertProblem(purser, "PUT", "/agents/a", { model: "unknown:x" }, {
    ...bad,
    detail: /unknown is not known/,
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

Deno.test("queries refuse unknown parameters and invalid values", async () => {
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
  for (const [path, name] of [["/costs?groupby=agent", "groupby"], ["/sessions?agent=a", "agent"]] as const) {
    await assertProblem(purser, "GET", path, undefined, { status: 400, code: "invalid", path: name });
  }
});
