import assert from "node:assert/strict";
import { createClient } from "@libsql/client/web";
import { MAX_BYTES, NODE_MODULES } from "../build/bundle_edge.ts";
import { EVENT } from "./harness/bodies.ts";
import { findEdgeBundle } from "./harness/edge_bundle.ts";
import { skipSqld } from "./harness/sqld.ts";
import { skipWorkerd } from "./harness/workerd.ts";
import { startSurroundings } from "./rest/surroundings.ts";
import { readWranglerConfig, startDenoOverSqld, startWorkerdOverSqld } from "./rest/targets.ts";

Deno.test("the edge bundle is one module of a bounded size that imports only workerd's modules, and no native code", async () => {
  const { bytes, gzipBytes, imports, path } = await findEdgeBundle();
  assert.ok(bytes <= MAX_BYTES.plain, `${bytes} bytes`);
  assert.ok(gzipBytes <= MAX_BYTES.gzip, `${gzipBytes} bytes compressed`);
  assert.deepEqual(imports, NODE_MODULES);
  const text = await Deno.readTextFile(path);
  for (const native of ["nodemailer", "hyparquet", "AWS4-HMAC", "better-sqlite3", "@libsql/linux"]) {
    assert.ok(!text.includes(native), native);
  }
  assert.deepEqual(
    [...text.matchAll(/import\("([^"]+)"\)/g)].map(([, name]) => name).filter((name) =>
      !name!.startsWith("node:")
    ),
    [],
  );
});

Deno.test("examples/edge_workers deploys the output of the task, with a trigger each minute and its flag", async () => {
  const config = await readWranglerConfig();
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
  assert.ok("bundle:edge" in tasks);
  assert.equal(config.main, "../../dist/purser_edge.js");
  assert.equal(config.no_bundle, true);
  assert.deepEqual(config.triggers.crons, ["* * * * *"]);
  assert.deepEqual(config.compatibility_flags, ["nodejs_compat"]);
});

Deno.test({
  name: "workerd delivers what is due when its cron triggers",
  ignore: skipSqld || skipWorkerd,
  async fn() {
    await using surroundings = await startSurroundings();
    surroundings.hooks.answer = () => 503;
    await using server = await startWorkerdOverSqld(surroundings.environment({ tools: false }));
    const database = createClient({ url: server.sqldUrl });
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(server.url + path, {
        method,
        headers: { "content-type": "application/json", authorization: `Bearer ${server.key}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };
    const rule = { name: "Any", threshold_type: "per_day_usd", threshold_usd: 0.000001, severity: "warning" };
    assert.equal((await send("POST", "/alerts/rules", rule)).status, 201);
    const event = { ...EVENT, at: new Date().toISOString(), cost_usd: 1 };
    assert.equal((await send("POST", "/costs/events", [event])).status, 201);
    await surroundings.hooks.untilReceived(1);

    surroundings.hooks.answer = () => 204;
    // The attempt is settled a moment after the receiver has answered; then it is made due.
    for (let changed = 0; changed === 0;) {
      const sql =
        "UPDATE deliveries SET due_at = 0 WHERE status = 'pending' AND leased_by IS NULL AND attempts = 1";
      changed = (await database.execute(sql)).rowsAffected;
    }
    assert.equal(await server.runScheduled(), "ok", server.log());
    await surroundings.hooks.untilReceived(2);
    const [alert] = (await send("GET", "/alerts/history")).body;
    const ops = alert.deliveries.find(({ channel }: { channel: string }) => channel === "ops");
    assert.deepEqual([ops.status, ops.attempts], ["delivered", 2]);
    database.close();
  },
});

Deno.test({
  name: "examples/edge_deno serves the API over a libSQL server, and ends gracefully",
  ignore: skipSqld,
  async fn() {
    const entry = new URL("../examples/edge_deno/main.ts", import.meta.url).pathname;
    await using server = await startDenoOverSqld({ PURSER_ENVIRONMENT: "deployed" }, entry);
    const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/json" };
    const health = await (await fetch(`${server.url}/healthz`, { headers })).json();
    assert.deepEqual([health.status, health.environment], ["ok", "deployed"]);
    const defined = await fetch(`${server.url}/agents/a`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ model: "demo:echo" }),
    });
    assert.equal(defined.status, 201);
    await defined.body?.cancel();
    assert.equal(await server.stop(), 0);
  },
});
