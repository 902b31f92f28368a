import assert from "node:assert/strict";
import { createApp } from "../src/http/api.ts";
import { createQuery, type Store } from "../src/store/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";

type Source = "primary" | "replica";

/** An API over books with one of everything, which tells who is read from; its replica is always well. */
async function openWithReplica() {
  const purser = await openTestPurser();
  const { core, clock } = purser;
  await purser.api("PUT", "/agents/tester", { model: "demo:echo" });
  const { run_id } = await purser.run({}, "Hello", { sessionId: "s1" });
  const rule = await purser.api("POST", "/alerts/rules", {
    ...{ name: "r", threshold_type: "per_day_usd", threshold_usd: 9, severity: "info" },
  });
  const key = await purser.api("POST", "/keys", { name: "k", scopes: ["read"] });
  const asked: Source[] = [];
  const ask = <T>(source: Source, answer: T): T => {
    asked.push(source);
    return answer;
  };
  const store: Store = {
    kind: core.store.kind,
    isShared: core.store.isShared,
    instances: core.store.instances,
    replica: { where: "replica", problem: () => Promise.resolve(undefined) },
    read: (statement) => ask("primary", core.store.read(statement)),
    readAll: (statements) => ask("primary", core.store.readAll(statements)),
    readStale: (statements) => ask("replica", core.store.readAll(statements)),
    write: (statements) => core.store.write(statements),
    writeInSet: (writer, item) => core.store.writeInSet(writer, item),
    waitingWrites: 0,
    freeBytes: () => core.store.freeBytes(),
    close: () => core.store.close(),
  };
  const app = createApp({ ...core, store, query: createQuery(store) });
  return {
    app,
    clock,
    ids: {
      session_id: "s1",
      agent_id: "tester",
      run_id,
      rule_id: rule.body.rule_id,
      key_id: key.body.key_id,
      name: "log",
    },
    /** Sends a request as somebody; gives who was read from. */
    async send(method: string, path: string, { as = "reader", body }: { as?: string; body?: unknown } = {}) {
      asked.length = 0;
      const response = await app.request(path, {
        method,
        headers: { "content-type": "application/json" },
        body: body === undefined ? undefined : JSON.stringify(body),
      }, withKey(as));
      const text = await response.text();
      assert.ok(response.status < 400, `${method} ${path}: ${response.status} ${text}`);
      return [...new Set(asked)].sort();
    },
    [Symbol.asyncDispose]: () => purser[Symbol.asyncDispose](),
  };
}

/** What the door tells the app of whoever has shown that key. */
function withKey(keyId: string) {
  return { principal: { keyId, scopes: ["admin"] as const, agentId: null } };
}

/** The lists that may be late. A session's events are those of a session that the primary knows. */
const LATE: Record<string, Source[]> = {
  "/costs": ["replica"],
  "/sessions": ["replica"],
  "/agents/{agent_id}/sessions": ["replica"],
  "/sessions/{session_id}/events": ["primary", "replica"],
  "/sessions/{session_id}/costs": ["replica"],
  "/alerts/history": ["replica"],
  "/anomalies": ["replica"],
};

Deno.test("lists may be read from the replica, and nothing else is", async () => {
  await using api = await openWithReplica();
  const { paths } = await (await api.app.request("/openapi.json")).json() as {
    paths: Record<string, Record<string, unknown>>;
  };
  const looked: string[] = [];
  for (const path of Object.keys(paths).filter((path) => paths[path]!.get && path !== "/events")) {
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => api.ids[name as keyof typeof api.ids]);
    const sources = await api.send("GET", filled);
    looked.push(path);
    if (path in LATE) assert.deepEqual(sources, LATE[path], path);
    else assert.ok(!sources.includes("replica"), path);
  }
  assert.ok(looked.length > 15);
  for (const path of Object.keys(LATE)) assert.ok(looked.includes(path), path);
});

const EVENT = {
  ...{ call_id: "c1", at: "2026-01-01T00:00:00Z", agent_id: "tester", provider: "openai", model: "gpt-4o" },
  ...{ input_tokens: 1, output_tokens: 1 },
};

Deno.test("who has written is answered by the primary for ten seconds, and others by the replica", async () => {
  await using api = await openWithReplica();
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["replica"]);
  await api.send("POST", "/costs/events", { as: "ada", body: [EVENT] });
  for (const path of ["/costs", "/sessions", "/alerts/history"]) {
    assert.deepEqual(await api.send("GET", path, { as: "ada" }), ["primary"]);
    assert.deepEqual(await api.send("GET", path, { as: "bob" }), ["replica"]);
  }
  api.clock.advance(10_000);
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["primary"]);
  api.clock.advance(1);
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["replica"]);
});

Deno.test("who has been refused a write is still taken for one who wrote", async () => {
  await using api = await openWithReplica();
  await assert.rejects(api.send("POST", "/costs/events", { as: "ada", body: [{}] }), /400/);
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["primary"]);
});

Deno.test("a run that is streamed counts as written when its stream ends", async () => {
  await using api = await openWithReplica();
  const response = await api.app.request("/agents/tester/runs", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "accept": "text/event-stream",
    },
    body: JSON.stringify({ input: "Hello" }),
  }, withKey("ada"));
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
  api.clock.advance(60_000);
  assert.match(await response.text(), /event: /);
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["primary"]);
  api.clock.advance(10_001);
  assert.deepEqual(await api.send("GET", "/costs", { as: "ada" }), ["replica"]);
});
