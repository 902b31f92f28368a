import assert from "node:assert/strict";
import { hostname } from "node:os";
import { newPlace, purser, startServer } from "../harness/cli_process.ts";
import { inProcess } from "../harness/in_process.ts";
import { newAgentPlace } from "./agent_place.ts";

/** `purser gate --stop-before-credits`: the quota of a plan has ended, as its provider has said. */

const INPUT = JSON.stringify({ session_id: "s-1", hook_event_name: "UserPromptSubmit", model: "gpt-5.5" });

Deno.test("the gate stops an agent whose plan has ended before it spends credits, in a database and through a server", async () => {
  await using place = await newAgentPlace();
  await using ledger = await newPlace();
  place.env.PURSER_DB = ledger.env.PURSER_DB!;
  await using server = await startServer(ledger);
  const windows = (used_pct: number) => ({
    agent_id: "codex",
    source: "log",
    machine: hostname(),
    windows: [{
      window: "primary",
      used_pct,
      resets_at: new Date(Date.now() + 3_600_000).toISOString(),
      measured_at: new Date().toISOString(),
    }],
  });
  const report = async (used: number) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(windows(used));
    assert.equal((await fetch(`${server.url}/plans`, { method: "POST", headers, body })).status, 204);
  };
  const gate = async (...more: string[]) => {
    const { code, out } = await inProcess(place, ["gate", "--agent", "codex", ...more], INPUT);
    assert.equal(code, 0);
    return out === "" ? undefined : JSON.parse(out);
  };
  await report(99);
  assert.equal(await gate("--stop-before-credits"), undefined);
  await report(100);
  const reason =
    /^Purser: the primary window of the codex plan is used up \(100%\) until \S+Z\. The next call would spend /;
  for (const ledgerOf of [[], ["--server", server.url]]) {
    assert.equal(await gate(...ledgerOf), undefined, "only if it is asked");
    const { decision, reason: said } = await gate("--stop-before-credits", ...ledgerOf);
    assert.equal(decision, "block");
    assert.match(said, reason);
  }
  assert.equal((await purser(ledger, ["plans"])).code, 0);
});
