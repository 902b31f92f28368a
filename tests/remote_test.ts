import { AGENT_DEFAULTS } from "../src/contract/limits.ts";
import assert from "node:assert/strict";
import { type AgentDefinition } from "../src/agents/mod.ts";
import { openCore, type WholeCore } from "../src/service/mod.ts";
import { BudgetExceededError } from "../src/kernel/errors.ts";
import { requestCancel } from "../src/sessions/mod.ts";
import { runAgent } from "../src/runner/mod.ts";
import { parseUsd } from "../src/kernel/money.ts";
import { skipSqld, type Sqld, startSqld } from "./harness/sqld.ts";

let sqld: Sqld | undefined;
if (!skipSqld) {
  Deno.test.beforeAll(async () => void (sqld = await startSqld({ durability: "strong" })));
  Deno.test.afterAll(async () => await sqld?.[Symbol.asyncDispose]());
}

/** Whole Pursers, each with memory of its own, over one new database on a libSQL server. */
async function openCores(count: number) {
  const { url, fetch } = await sqld!.createDatabase();
  const config = {
    dbUrl: url,
    durability: "full" as const,
    remoteTimeoutMs: 10_000,
    maxBodyBytes: 1_000_000,
    environment: "test",
  };
  const cores = await Promise.all(Array.from({ length: count }, () => openCore({ config, fetch })));
  return {
    cores: cores as [WholeCore, WholeCore],
    async [Symbol.asyncDispose]() {
      for (const core of cores) await core.close();
    },
  };
}

function agent(fields: Partial<AgentDefinition>): AgentDefinition {
  return { ...AGENT_DEFAULTS, agentId: "agent", model: "demo:echo", ...fields };
}

const count = async (core: WholeCore, sql: string) => Number((await core.store.read({ sql })).rows[0]![0]);

function test(sentence: string, body: (a: WholeCore, b: WholeCore) => Promise<void>): void {
  Deno.test({
    name: `on a libSQL server ${sentence}`,
    ignore: skipSqld,
    async fn() {
      await using opened = await openCores(2);
      await body(...opened.cores);
    },
  });
}

test("a run is booked, and its session continues in another instance", async (a, b) => {
  const first = await runAgent(a, { agent: agent({}), input: "hello" });
  const second = await runAgent(b, { agent: agent({}), input: "again", sessionId: first.session_id });
  assert.equal(second.status, "completed");
  assert.ok(second.token_usage.cost_usd! > 0);
  assert.ok(
    second.token_usage.input_tokens > first.token_usage.input_tokens,
    "it has the first run's messages",
  );
  assert.equal(await count(a, "SELECT count(*) FROM calls"), 2);
});

for (const budgetMode of ["stop", "strict"] as const) {
  test(`a ${budgetMode} budget ends a loop, and nothing stays reserved`, async (a) => {
    const run = runAgent(a, {
      agent: agent({
        model: "demo:loop",
        tools: ["calculator"],
        maxSteps: 50,
        budgetMode,
        costBudgetNanoUsd: parseUsd(budgetMode === "stop" ? 0.0005 : 0.02),
      }),
      input: "count for ever",
    });
    await assert.rejects(run, BudgetExceededError);
    assert.ok(await count(a, "SELECT count(*) FROM calls") > 1);
    assert.equal(await count(a, "SELECT count(*) FROM reservations"), 0);
    assert.equal(await count(a, "SELECT count(*) FROM sessions WHERE status = 'budget_exceeded'"), 1);
  });
}

test("a step costs one commit, and one more where a budget reserves for it", async (a) => {
  const write = a.store.write.bind(a.store);
  const writeInSet = a.store.writeInSet.bind(a.store);
  let writes = 0;
  let bookings = 0;
  a.store.write = (statements) => {
    writes++;
    return write(statements);
  };
  a.store.writeInSet = (writer, item) => {
    bookings++;
    return writeInSet(writer, item);
  };
  for (const [costBudgetNanoUsd, commits] of [[null, 10], [parseUsd(1), 20]] as const) {
    [writes, bookings] = [0, 0];
    const result = await runAgent(a, {
      agent: agent({ model: "demo:loop", tools: ["calculator"], maxSteps: 10, costBudgetNanoUsd }),
      input: "ten times",
    });
    assert.equal(result.steps, 10);
    assert.equal(bookings, commits);
    // To begin, and to end.
    assert.ok(writes <= 2, `${writes} writes`);
  }
  assert.equal(await count(a, "SELECT count(*) FROM reservations"), 0);
});

test("a run is cancelled through another instance", async (a, b) => {
  let runId: string | undefined;
  let asked: Promise<void> | undefined;
  const unsubscribe = a.bus.subscribe((event) => {
    if (event.type === "model.called" && !asked) {
      runId = event.run_id!;
      asked = requestCancel(b, runId);
    }
  });
  const result = await runAgent(a, {
    agent: agent({ model: "demo:loop", tools: ["calculator"], maxSteps: 500 }),
    input: "on and on",
  });
  unsubscribe();
  await asked;
  assert.equal(result.status, "cancelled");
  assert.ok(result.steps >= 1 && result.steps < 500);
  assert.equal(await count(b, "SELECT count(*) FROM calls"), result.steps);
});

Deno.test({
  name: "on a libSQL server a booking whose response is lost is in the ledger and the log once",
  ignore: skipSqld,
  async fn() {
    const { url, fetch } = await sqld!.createDatabase();
    let isLosing = false;
    const config = {
      dbUrl: url,
      durability: "full" as const,
      remoteTimeoutMs: 800,
      maxBodyBytes: 1_000_000,
      environment: "test",
    };
    const core = await openCore({
      config,
      // The server commits, and its response never arrives.
      fetch: async (...request: Parameters<typeof fetch>) => {
        const response = await fetch(...request);
        if (!isLosing) return response;
        await response.body?.cancel();
        throw new TypeError("connection reset");
      },
      // The network is back when the run is about to end.
      log: { debug() {}, info() {}, warn() {}, error: () => void (isLosing = false) },
    });
    core.bus.subscribe(({ type }) => {
      if (type === "tool.called") isLosing = true;
    });
    try {
      const looper = agent({ model: "demo:loop", tools: ["calculator"], maxSteps: 5 });
      await assert.rejects(runAgent(core, { agent: looper, input: "loop", sessionId: "lossy" }), {
        code: "unavailable",
      });
      const calls = await count(core, "SELECT count(*) FROM calls");
      assert.ok(calls >= 2);
      assert.equal(await count(core, "SELECT steps FROM runs"), calls);
      for (const type of ["model.called", "cost.recorded"]) {
        assert.equal(await count(core, `SELECT count(*) FROM events WHERE type = '${type}'`), calls, type);
      }
      assert.equal(await count(core, "SELECT count(*) - count(DISTINCT message_id) FROM messages"), 0);
      assert.equal(await count(core, "SELECT count(*) FROM sessions WHERE status = 'failed'"), 1);
    } finally {
      await core.close();
    }
  },
});
