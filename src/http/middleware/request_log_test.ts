import assert from "node:assert/strict";
import { openTestPurser } from "../../../tests/harness/test_purser.ts";
import { createApp, createLazyApp } from "../app.ts";
import { withAccessCheck } from "./access_check.ts";

const SECRET = "psr_0123_abcdefghijklmnopqrstuvwxyz0123456789abc";

Deno.test("each request is logged by its route, its answer has the id, and the log has no path, query or header", async () => {
  await using purser = await openTestPurser();
  const { core, clock, logs } = purser;
  await purser.api("PUT", "/agents/helper", { model: "demo:echo" });
  for (const app of [await createApp(core), createLazyApp(core)]) {
    const handle = withAccessCheck(core, {
      fetch(request, env) {
        clock.advance(12);
        return app.fetch(request, env);
      },
    });
    const send = async (method: string, path: string, init?: RequestInit) => {
      logs.length = 0;
      const headers = { host: "127.0.0.1:8420", ...init?.headers };
      const url = `http://127.0.0.1:8420${path}`;
      const response = await handle(new Request(url, { method, ...init, headers }), "127.0.0.1");
      const lines = logs.filter(({ message }) => message === "Answered a request");
      assert.equal(lines.length, 1, path);
      const { level, fields: { request_id, duration_ms, ...fields } } = lines[0]!;
      assert.match(String(request_id), /^req_\w+$/);
      assert.equal(response.headers.get("x-request-id"), request_id);
      assert.equal(duration_ms, 12);
      for (const text of [SECRET, "helper", "s3cret"]) assert.ok(!JSON.stringify(logs).includes(text), path);
      return [level, fields];
    };
    const get = (route: string | null, status = 200) => ({ method: "GET", route, status });
    assert.deepEqual(await send("GET", "/agents/helper?x=s3cret"), ["info", get("/agents/{agent_id}", 400)]);
    assert.deepEqual(await send("GET", "/agents/helper"), ["info", get("/agents/{agent_id}")]);
    assert.deepEqual(await send("HEAD", "/agents/helper"), ["info", {
      ...get("/agents/{agent_id}"),
      method: "HEAD",
    }]);
    assert.deepEqual(await send("GET", `/sessions/${SECRET}/events?after=1`), [
      "info",
      get("/sessions/{session_id}/events", 404),
    ]);
    assert.deepEqual(await send("GET", `/nowhere/${SECRET}?key=s3cret`), ["info", get(null, 404)]);
    const body = JSON.stringify({ input: "s3cret" });
    const headers = { "content-type": "application/json", authorization: `Bearer ${SECRET}` };
    assert.deepEqual(await send("POST", "/agents/helper/runs", { body, headers }), [
      "info",
      { method: "POST", route: "/agents/{agent_id}/runs", status: 200 },
    ]);
    // A platform asks these every few seconds.
    assert.deepEqual(await send("GET", "/healthz"), ["debug", get("/healthz")]);
    assert.deepEqual(await send("GET", "/readyz"), ["debug", get("/readyz")]);
  }
});

Deno.test("a streamed run is logged when it ends, by the code of its error, as its status says nothing of it", async () => {
  await using purser = await openTestPurser();
  const { core, clock, logs } = purser;
  await purser.api("PUT", "/agents/poor", { model: "demo:echo", cost_budget_usd: 0 });
  await purser.api("PUT", "/agents/helper", { model: "demo:echo" });
  const handle = withAccessCheck(core, await createApp(core));
  for (const [agent, expected] of [["poor", { error_code: "budget_exceeded" }], ["helper", {}]] as const) {
    logs.length = 0;
    const response = await handle(
      new Request(`http://127.0.0.1:8420/agents/${agent}/runs`, {
        method: "POST",
        body: '{"input":"Hello"}',
        headers: {
          host: "127.0.0.1:8420",
          "content-type": "application/json",
          accept: "text/event-stream",
        },
      }),
      "127.0.0.1",
    );
    clock.advance(7);
    await response.text();
    const lines = logs.filter(({ message }) => message === "Answered a request");
    assert.deepEqual(lines.map(({ fields: { duration_ms: _duration, ...fields } }) => fields), [{
      method: "POST",
      route: "/agents/{agent_id}/runs",
      status: 200,
      ...expected,
      request_id: response.headers.get("x-request-id"),
    }]);
  }
});

Deno.test("a refused request and an internal error are logged under the id of their answers", async () => {
  await using purser = await openTestPurser();
  const { core, logs } = purser;
  const handle = withAccessCheck(core, await createApp(core));
  const foreign = await handle(new Request("http://books.example.com/agents"), "192.0.2.1");
  assert.equal(foreign.status, 403);
  assert.deepEqual(logs.at(-1)!.fields.request_id, foreign.headers.get("x-request-id"));

  const broken = withAccessCheck(core, { fetch: () => Promise.reject(new Error("boom")) });
  const failed = await broken(
    new Request("http://127.0.0.1/agents", { headers: { host: "127.0.0.1" } }),
    "127.0.0.1",
  );
  const { details } = await failed.json();
  assert.equal(failed.headers.get("x-request-id"), details.request_id);
  assert.deepEqual(
    logs.slice(-2).map(({ level, message, fields }) => [level, message, fields.request_id]),
    [["error", "A request failed", details.request_id], ["info", "Answered a request", details.request_id]],
  );
});
