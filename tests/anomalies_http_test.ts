import assert from "node:assert/strict";
import { startMonitor } from "../src/monitor/mod.ts";
import { openTestPurser } from "./harness/test_purser.ts";

Deno.test("GET /anomalies lists anomalies, newest first, by agent and time, in pages", async () => {
  await using purser = await openTestPurser();
  const { core } = purser;
  const monitor = startMonitor({ ...core, outboxChannels: [], wakeDispatcher() {} });
  for (const agentId of ["ann", "bob", "ann"]) {
    const run_id = core.ids.next("run");
    const tool_calls = Array(5).fill({ tool_call_id: "t", tool_name: "look", input: {} });
    const at = new Date(core.clock.now()).toISOString();
    core.bus.publish({
      type: "model.called",
      at,
      agent_id: agentId,
      session_id: null,
      run_id,
      seq: null,
      payload: { tool_calls },
    });
    await monitor.idle();
    purser.clock.advance(1_000);
  }
  const list = async (query: string) => {
    const { body, headers } = await purser.api("GET", `/anomalies${query}`);
    const names = body.map((row: { agent_id: string; detected_at: string }) =>
      `${row.agent_id} ${row.detected_at.slice(17, 19)}`
    );
    return { names, next: /<([^>]*)>/.exec(headers.get("link") ?? "")?.[1]?.replace("/anomalies", "") };
  };
  assert.deepEqual((await list("")).names, ["ann 02", "bob 01", "ann 00"]);
  assert.deepEqual((await list("?agent_id=ann")).names, ["ann 02", "ann 00"]);
  assert.deepEqual((await list("?from=2026-11-01T12:00:01.000Z")).names, ["ann 02", "bob 01"]);
  const first = await list("?limit=2");
  assert.deepEqual(first.names, ["ann 02", "bob 01"]);
  assert.deepEqual((await list(first.next!)).names, ["ann 00"]);
  for (const query of ["?limit=0", "?limit=501", "?from=yesterday", "?kind=x", "?cursor=x"]) {
    assert.equal((await purser.api("GET", `/anomalies${query}`)).status, 400, query);
  }
  await monitor.stop();
});
