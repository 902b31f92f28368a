import assert from "node:assert/strict";
import { sha256Hex } from "../../src/kernel/encoding.ts";
import { snapshotOf } from "../harness/snapshots.ts";
import type { TestPurser } from "../harness/test_purser.ts";

export const AGENTS = ["alpha", "bravo"] as const;
export type AgentName = (typeof AGENTS)[number];

/** Begins every text that belongs to an agent and is not an id. */
export const markOf = (agent: AgentName): string => `secret-of-${agent}`;

/** Gives an agent something of everything, each text with its mark and each id with its name; returns the ids. */
export async function populate(
  purser: TestPurser,
  agent: AgentName,
  hasKeys: boolean,
): Promise<Record<string, string>> {
  const mark = markOf(agent);
  const expect = async (status: number, method: string, path: string, body?: unknown) => {
    const answer = await purser.api(method, path, body);
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await expect(201, "PUT", `/agents/${agent}`, {
    model: "demo:loop",
    system_prompt: mark,
    tools: ["current_time"],
  });
  const { rule_id } = await expect(201, "POST", "/alerts/rules", {
    name: mark,
    threshold_type: "per_run_usd",
    threshold_usd: 0.000001,
    severity: "info",
    cooldown_seconds: 0,
    agent_id: agent,
  });
  const { budget_id } = await expect(201, "POST", "/budgets", {
    name: mark,
    limit_usd: 1_000,
    per: "day",
    agent_id: agent,
    each: "session",
    mode: "strict",
  });
  await expect(204, "POST", "/plans", {
    agent_id: agent,
    source: "log",
    machine: mark,
    windows: [{ window: "five_hour", used_pct: 5, plan: mark }],
  });
  await expect(201, "POST", `/budgets/${budget_id}/raises`, { extra_usd: 1, reason: mark });
  for (const [index, isReleased] of [true, false].entries()) {
    await purser.core.store.write([{
      sql:
        `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at,
        is_lost, agent_id) VALUES ('session ' || ?3, ?2, ?3, 1, 0, 0, 1, ?1)`,
      args: [agent, purser.clock.now(), `${agent}_${index}`],
    }]);
    if (isReleased) await expect(201, "POST", `/budgets/${budget_id}/releases`, { reason: mark });
  }
  await expect(201, "POST", "/budgets", {
    ...{ name: mark, limit_usd: 0, per: "lifetime", session_id: `${agent}:refused` },
  });
  await expect(201, "POST", "/budgets", {
    ...{ name: mark, limit_usd: 0, per: "lifetime", session_id: `${agent}:asks`, action: "ask" },
  });
  const { details: { ticket_id } } = await expect(402, "POST", "/budgets/reservations", {
    ...{ agent_id: agent, session_id: `${agent}:asks`, worst_case_usd: 1 },
  });
  await expect(402, "POST", "/budgets/reservations", {
    agent_id: agent,
    session_id: `${agent}:refused`,
    estimate_usd: 1,
  });
  const { reservation_id } = await expect(201, "POST", "/budgets/reservations", {
    agent_id: agent,
    estimate_usd: 0.001,
    worst_case_usd: 0.001,
    ttl_seconds: 900,
  });
  const session_id = `ses_${agent}`;
  const { run_id } = await expect(200, "POST", `/agents/${agent}/runs`, {
    input: `${mark} 6 times`,
    session_id,
  });
  const call_id = `call_${agent}`;
  const call = { provider: "demo", input_tokens: 1_000, output_tokens: 1, at: "2026-11-01T11:00:00.000Z" };
  await expect(201, "POST", "/costs/events", [
    {
      ...call,
      call_id,
      agent_id: agent,
      model: mark,
      session_id: `loose_${agent}`,
      run_id: `elsewhere_${agent}`,
      account: mark,
      tags: { [`team_${agent}`]: mark, team: mark },
    },
  ]);
  const log = { source: "log", name: agent, agent_id: agent, machine: mark };
  const seen = [{ ref: agent, model: mark, at: call.at, input_tokens: 1, output_tokens: 1 }];
  await expect(200, "POST", "/sightings", { origin: log, sightings: seen });
  const history: { alert_id: string; agent_id: string }[] = await expect(200, "GET", "/alerts/history");
  const { alert_id } = history.find(({ agent_id }) => agent_id === agent)!;
  const snapshot = snapshotOf({ agent_id: agent, session_id: `copy_${agent}`, tags: { ticket: mark } });
  await expect(200, "POST", "/agents/snapshot/restore", snapshot);
  // Its stated cost is not that of the prices: there is something to reprice.
  const stated = { ...call, call_id: `stated_${agent}`, agent_id: agent, model: "echo", cost_usd: 1 };
  await expect(201, "POST", "/costs/events", [stated]);
  const { repricing_id } = await expect(200, "POST", "/repricings", {
    agent_id: agent,
    from: "2026-11-01T00:00:00.000Z",
    to: "2026-11-02T00:00:00.000Z",
    include_reported: true,
    apply: true,
  });
  const bill = { source: "csv", account: agent, file: { sha256: await sha256Hex(agent), how: mark } };
  const { import_id } = await expect(200, "POST", "/bills/imports", bill);
  const whole = {
    source: "csv",
    account: `${agent} bill`,
    file: { sha256: await sha256Hex(`${agent} bill`), how: mark },
  };
  const { import_id: whole_id } = await expect(200, "POST", "/bills/imports", whole);
  await expect(200, "POST", `/bills/imports/${whole_id}/lines`, { offset: 0, lines: [], is_last: true });
  const month = { source: "csv", account: whole.account, month: "2026-10" };
  const { reconciliation_id } = await expect(200, "POST", "/reconciliations", month);
  const key = { name: mark, scopes: ["read", "call"], agent_id: agent };
  const key_id = hasKeys ? (await expect(201, "POST", "/keys", key)).key_id : "key_none";
  const price = { provider: mark, model: mark, input_usd_per_million: 1, output_usd_per_million: 1 };
  const { price_id } = await expect(201, "PUT", "/prices/rows", price);
  const upstreams: { upstream_id: string; account: string }[] = await expect(200, "GET", "/upstreams");
  const { upstream_id } = upstreams.find(({ account }) => account === mark)!;
  await purser.core.monitor.idle();
  return {
    ...{
      upstream_id,
      agent_id: agent,
      price_id,
      session_id,
      run_id,
      call_id,
      rule_id,
      alert_id,
      budget_id,
      ticket_id,
      reservation_id,
      repricing_id,
      import_id,
      reconciliation_id,
      key_id,
    },
    name: "log",
  };
}
