import assert from "node:assert/strict";
import { createClient } from "@libsql/client/web";
import { createEdgeHandler, EDGE_LIMITS, type EdgeBindings } from "../src/edge/mod.ts";
import { fixedClock } from "../src/kernel/clock.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeFirstKey } from "./harness/first_key.ts";
import { skipSqld, startSqld } from "./harness/sqld.ts";
import { startWebhookReceiver } from "./harness/webhook_receiver.ts";

/** Handlers of an edge, with their log and the promises passed to `waitUntil`. */
function startEdge(
  bindings: EdgeBindings,
  options: { fetch?: typeof fetch; startAt?: number; key?: string } = {},
) {
  const lines: { level: string; message: string; reason?: string; request_id?: string }[] = [];
  const clock = fixedClock(options.startAt ?? Date.now());
  const edge = createEdgeHandler({
    write: (line) => void lines.push(JSON.parse(line)),
    clock: {
      ...clock,
      sleep: (delayMs, signal) => delayMs === 0 ? Promise.resolve() : clock.sleep(delayMs, signal),
    },
    fetch: options.fetch,
  });
  const going: Promise<unknown>[] = [];
  return {
    clock,
    lines,
    scheduled: () => edge.scheduled(bindings),
    async send(method: string, path: string, body?: unknown) {
      const request = new Request(`http://localhost${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          ...(options.key && { authorization: `Bearer ${options.key}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const response = await edge.fetch(request, bindings, { waitUntil: (work) => void going.push(work) });
      const text = await response.text();
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
    },
    /** Resolves when all background work of the requests has ended. */
    async idle() {
      while (going.length > 0) await going.shift();
    },
  };
}

Deno.test("settings that an edge can't honor are refused as unsupported, with the reason of the table", async () => {
  const REMOTE = "http://127.0.0.1:9";
  const wrong: [EdgeBindings, keyof typeof EDGE_LIMITS][] = [
    [{ PURSER_DB: "/data/purser.db" }, "local_database"],
    [{ PURSER_DB: ":memory:" }, "local_database"],
    [{ PURSER_DB: "postgres://purser@db.example.com/purser" }, "postgres"],
    [{ PURSER_DB: REMOTE, PURSER_CONFIG: "/etc/purser.json" }, "config_file"],
    [{ PURSER_DB: REMOTE, PURSER_CONFIG_JSON: '{"tools":["/tools.ts"]}' }, "tools"],
    [{ PURSER_CONFIG_JSON: { db: "/data/purser.db" } }, "local_database"],
  ];
  for (const [bindings, name] of wrong) {
    const edge = startEdge(bindings);
    const { status, body } = await edge.send("GET", "/agents");
    assert.deepEqual([status, body.code], [501, "unsupported"]);
    assert.ok(body.detail.includes(EDGE_LIMITS[name].reason), body.detail);
    assert.ok(body.detail.includes(EDGE_LIMITS[name].advice), body.detail);
    await assert.rejects(edge.scheduled(), { code: "unsupported" });
  }
});

Deno.test("invalid settings are logged, and not shown to clients", async () => {
  const wrong: [EdgeBindings, RegExp][] = [
    [{}, /set PURSER_DB/],
    [{ PURSER_DB: "http://x", PURSER_CONFIG_JSON: "{" }, /Cannot use PURSER_CONFIG_JSON: line 1/],
    [{ PURSER_DB: "http://x", PURSER_CONFIG_JSON: { chanels: [] } }, /did you mean "?channels/],
    [{ PURSER_DB: "http://x", PURSER_LOG_LEVEL: "loud" }, /PURSER_LOG_LEVEL/],
  ];
  for (const [bindings, reason] of wrong) {
    const edge = startEdge({ ...bindings, NOT_A_TEXT: { get() {} } });
    const { status, body } = await edge.send("GET", "/healthz");
    assert.deepEqual([status, body.code], [500, "internal"]);
    const line = edge.lines.find(({ request_id }) => request_id === body.details.request_id)!;
    assert.match(line.reason!, reason);
  }
});

Deno.test("an unreachable database is a 503, and is retried with the next request", async () => {
  let asked = 0;
  const edge = startEdge({ PURSER_DB: "http://127.0.0.1:9" }, {
    fetch() {
      asked++;
      return Promise.resolve(new Response("no access", { status: 401 }));
    },
  });
  for (let count = 1; count <= 2; count++) {
    const { status, body } = await edge.send("GET", "/agents");
    assert.deepEqual([status, body.code], [503, "unavailable"]);
    assert.ok(asked >= count);
  }
});

/** A libSQL server, and direct access to its database beside the edge. */
async function startDatabase() {
  const sqld = await startSqld();
  const key = await makeFirstKey(sqld.url);
  const client = createClient({ url: sqld.url });
  let trips = 0;
  return {
    url: sqld.url,
    key,
    /** The number of requests to the database. */
    get trips() {
      return trips;
    },
    fetch: ((input, init) => {
      trips++;
      return fetch(input, init);
    }) as typeof fetch,
    run: (sql: string) => client.execute(sql),
    async [Symbol.asyncDispose]() {
      client.close();
      await sqld[Symbol.asyncDispose]();
    },
  };
}

/** Adds a rule for every reported call, and books one that exceeds its threshold. */
async function fireAlert(edge: ReturnType<typeof startEdge>): Promise<void> {
  const rule = { name: "Any", threshold_type: "per_day_usd", threshold_usd: 0.000001, severity: "warning" };
  assert.equal((await edge.send("POST", "/alerts/rules", rule)).status, 201);
  await edge.idle();
  const at = new Date(edge.clock.now()).toISOString();
  assert.equal((await edge.send("POST", "/costs/events", [{ ...EVENT, at, cost_usd: 1 }])).status, 201);
}

Deno.test({
  name: "requests share the version of the schema: a read takes one round trip",
  ignore: skipSqld,
  async fn() {
    await using database = await startDatabase();
    const edge = startEdge({ PURSER_DB: database.url }, { fetch: database.fetch, key: database.key });
    assert.equal((await edge.send("GET", "/agents")).status, 200);
    await edge.idle();
    const before = database.trips;
    assert.equal((await edge.send("GET", "/agents")).status, 200);
    await edge.idle();
    assert.equal(database.trips, before + 1);
    assert.equal((await edge.send("PUT", "/agents/a", { model: "demo:echo" })).status, 201);
    await edge.idle();
    // The check for duplicates, the write, and the agent afterwards.
    assert.ok(database.trips <= before + 4, `${database.trips - before}`);
  },
});

Deno.test({
  name: "requests need a key, share its check for five seconds, and record its use after the response",
  ignore: skipSqld,
  async fn() {
    await using database = await startDatabase();
    const bindings = { PURSER_DB: database.url };
    const edge = startEdge(bindings, { key: database.key });
    const anonymous = startEdge(bindings);
    assert.equal((await anonymous.send("GET", "/agents")).status, 401);
    assert.equal((await anonymous.send("GET", "/healthz")).status, 200);
    assert.equal((await edge.send("GET", "/agents")).status, 200);
    await edge.idle();
    const { rows } = await database.run("SELECT last_used_at IS NOT NULL FROM api_keys");
    assert.equal(rows[0]![0], 1);
    await database.run("UPDATE api_keys SET revoked_at = 1");
    assert.equal((await edge.send("GET", "/agents")).status, 200);
    edge.clock.advance(5_000);
    assert.equal((await edge.send("GET", "/agents")).status, 401);
    await edge.idle();
    await anonymous.idle();
  },
});

Deno.test({
  name: "without any key an edge refuses every client",
  ignore: skipSqld,
  async fn() {
    await using sqld = await startSqld();
    const edge = startEdge({ PURSER_DB: sqld.url });
    for (const path of ["/agents", "/healthz"]) {
      const { status, body } = await edge.send("GET", path);
      assert.deepEqual([status, body.code], [403, "forbidden"]);
    }
    await edge.idle();
  },
});

Deno.test({
  name: "an alert is delivered after the response, before the work of waitUntil ends",
  ignore: skipSqld,
  async fn() {
    await using database = await startDatabase();
    await using hooks = startWebhookReceiver();
    const channels = [{ kind: "webhook", url: "${HOOK_URL}" }];
    const edge = startEdge({
      PURSER_DB: database.url,
      HOOK_URL: hooks.url,
      PURSER_CONFIG_JSON: { channels, allow_private_networks: ["127.0.0.0/8"] },
    }, { key: database.key });
    await fireAlert(edge);
    await edge.idle();
    assert.equal(hooks.received.length, 1);
    const [alert] = (await edge.send("GET", "/alerts/history")).body;
    assert.deepEqual(alert.deliveries.map(({ status }: { status: string }) => status), [
      "delivered",
      "delivered",
    ]);
  },
});

Deno.test({
  name: "a failed delivery is retried by requests every 30 s, and by the scheduled handler",
  ignore: skipSqld,
  async fn() {
    await using database = await startDatabase();
    await using hooks = startWebhookReceiver(() => 503);
    const edge = startEdge({
      PURSER_DB: database.url,
      PURSER_CONFIG_JSON: {
        channels: [{ kind: "webhook", url: hooks.url }],
        allow_private_networks: ["127.0.0.0/8"],
      },
    }, { key: database.key });
    await fireAlert(edge);
    await edge.idle();
    assert.equal(hooks.received.length, 1);

    edge.clock.advance(10_000);
    await edge.send("GET", "/agents");
    await edge.idle();
    assert.equal(hooks.received.length, 1, "the last check was less than 30 s ago");
    edge.clock.advance(30_000);
    await edge.send("GET", "/agents");
    await edge.idle();
    assert.equal(hooks.received.length, 2);

    await edge.scheduled();
    assert.equal(hooks.received.length, 2, "it is not due yet");
    hooks.answer = () => 204;
    edge.clock.advance(60_000);
    await edge.scheduled();
    assert.equal(hooks.received.length, 3);
    await edge.scheduled();
    assert.equal(hooks.received.length, 3);
  },
});

Deno.test({
  name:
    "a run whose isolate was terminated is interrupted by the scheduled handler once its lease has expired",
  ignore: skipSqld,
  async fn() {
    await using database = await startDatabase();
    const edge = startEdge({ PURSER_DB: database.url }, { key: database.key });
    await edge.send("PUT", "/agents/a", { model: "demo:echo" });
    const { body: { run_id } } = await edge.send("POST", "/agents/a/runs", { input: "Hi", session_id: "s" });
    await edge.idle();
    // As if the isolate had been terminated during the run.
    await database.run(
      `UPDATE runs SET status = 'running', ended_at = NULL, lease_until = unixepoch() * 1000 + 60000`,
    );
    await database.run(`UPDATE sessions SET status = 'running', active_run_id = '${run_id}'`);
    await edge.scheduled();
    assert.equal((await edge.send("GET", `/runs/${run_id}`)).body.status, "running");
    await database.run("UPDATE runs SET lease_until = 0");
    await edge.scheduled();
    assert.equal((await edge.send("GET", `/runs/${run_id}`)).body.status, "interrupted");
    const again = await edge.send("POST", "/agents/a/runs", { input: "Again", session_id: "s" });
    assert.equal(again.body.status, "completed");
    await edge.idle();
  },
});

const EFFECTS = {
  refused: "Refused as `unsupported` (501): ",
  silent_channel: "Its channels can't send there, and report that: ",
  differs: "",
};

Deno.test("docs/edge.md has the table of what an edge can't do, row by row", async () => {
  const document = await Deno.readTextFile(new URL("../docs/edge.md", import.meta.url));
  const rows = document.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  const wanted = Object.values(EDGE_LIMITS).map(({ what, reason, effect, advice }) => [
    what,
    reason,
    EFFECTS[effect] + advice,
  ]);
  assert.deepEqual(rows.slice(2), wanted);
});
