import assert from "node:assert/strict";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { createMigrated } from "./harness/databases.ts";
import { isThorough } from "./harness/thorough.ts";
import { skipSqld, type Sqld, startSqld } from "./harness/sqld.ts";

/**
 * The response of the API when the answer to one commit gets lost between the libSQL server and this process, which
 * can't know the outcome of the commit: the response must report the actual outcome.
 */

let sqld: Sqld | undefined;
if (!skipSqld) {
  Deno.test.beforeAll(async () => void (sqld = await startSqld({ durability: "strong" })));
  Deno.test.afterAll(async () => await sqld?.[Symbol.asyncDispose]());
}

/** The way in which an answer gets lost: the connection breaks, or the platform's `fetch` repeats the request. */
const LOSSES = ["broken", "repeated"] as const;
type Loss = typeof LOSSES[number];

/** A `fetch` that loses the answer to one commit, counted from the call of `lose`. */
function losingFetch(fetch: typeof globalThis.fetch) {
  let loss: Loss | undefined;
  let left = 0;
  let commits = 0;
  const send: typeof globalThis.fetch = async (input, init) => {
    const request = input as Request;
    const body = await request.text();
    const again = () =>
      fetch(new Request(request.url, { method: "POST", headers: request.headers, body }), init);
    const isCommit = body.includes('"COMMIT"') && body.includes("BEGIN IMMEDIATE");
    if (!isCommit) return await again();
    commits++;
    if (loss === undefined || --left !== 0) return await again();
    await (await again()).body?.cancel();
    if (loss === "repeated") return await again();
    throw new TypeError("error reading a body from connection");
  };
  return {
    send,
    /** Loses the answer to the n-th commit from now on. */
    lose(which: number, how: Loss) {
      [left, loss, commits] = [which, how, 0];
    },
    /** Loses none; returns how many commits there were. */
    stop(): number {
      loss = undefined;
      return commits;
    },
  };
}

/** A request, its preparation, the expected response, and the expected state afterwards. */
interface Case {
  name: string;
  prepare?(purser: TestPurser): Promise<void>;
  request(purser: TestPurser): Promise<{ status: number; body: unknown }>;
  status: number;
  check?(purser: TestPurser): Promise<void>;
}

const AGENT = { model: "demo:echo" };
const RULE = { name: "day", threshold_type: "per_day_usd", threshold_usd: 1_000, severity: "info" };
const CALL = {
  ...{ call_id: "c1", agent_id: "a", provider: "openai", model: "gpt-4o", at: "2026-11-01T00:00:00.000Z" },
  ...{ input_tokens: 1, output_tokens: 1, cost_usd: 1.5 },
};

async function lengthOf(purser: TestPurser, path: string): Promise<number> {
  return (await purser.api("GET", path)).body.length;
}

const CASES: Case[] = [
  {
    name: "PUT of a new agent",
    request: (purser) => purser.api("PUT", "/agents/a", AGENT),
    status: 201,
  },
  {
    name: "PUT of an agent that is there",
    prepare: async (purser) => void await purser.api("PUT", "/agents/a", AGENT),
    request: (purser) => purser.api("PUT", "/agents/a", { ...AGENT, system_prompt: "Be brief" }),
    status: 200,
  },
  {
    name: "DELETE of an agent",
    prepare: async (purser) => void await purser.api("PUT", "/agents/a", AGENT),
    request: (purser) => purser.api("DELETE", "/agents/a"),
    status: 204,
    check: async (purser) => assert.equal(await lengthOf(purser, "/agents"), 0),
  },
  {
    name: "DELETE of an agent that is not there",
    request: (purser) => purser.api("DELETE", "/agents/nope"),
    status: 404,
  },
  {
    name: "POST of a rule",
    request: (purser) => purser.api("POST", "/alerts/rules", RULE),
    status: 201,
    check: async (purser) => assert.equal(await lengthOf(purser, "/alerts/rules"), 1),
  },
  {
    name: "PATCH of a rule",
    prepare: async (purser) => void await purser.api("POST", "/alerts/rules", RULE),
    request: async (purser) => {
      const [{ rule_id }] = (await purser.api("GET", "/alerts/rules")).body;
      return await purser.api("PATCH", `/alerts/rules/${rule_id}`, { enabled: false });
    },
    status: 200,
  },
  {
    name: "DELETE of a rule",
    prepare: async (purser) => void await purser.api("POST", "/alerts/rules", RULE),
    request: async (purser) => {
      const [{ rule_id }] = (await purser.api("GET", "/alerts/rules")).body;
      return await purser.api("DELETE", `/alerts/rules/${rule_id}`);
    },
    status: 204,
    check: async (purser) => assert.equal(await lengthOf(purser, "/alerts/rules"), 0),
  },
  {
    name: "test of a rule",
    prepare: async (purser) => void await purser.api("POST", "/alerts/rules", RULE),
    request: async (purser) => {
      const [{ rule_id }] = (await purser.api("GET", "/alerts/rules")).body;
      return await purser.api("POST", `/alerts/rules/${rule_id}/test`);
    },
    status: 200,
    check: async (purser) => assert.equal(await lengthOf(purser, "/alerts/history"), 1),
  },
  {
    name: "POST of a key",
    request: (purser) => purser.api("POST", "/keys", { name: "ops", scopes: ["admin"] }),
    status: 201,
    check: async (purser) => assert.equal(await lengthOf(purser, "/keys"), 1),
  },
  {
    name: "DELETE of a key",
    prepare: async (purser) => void await purser.api("POST", "/keys", { name: "ops", scopes: ["admin"] }),
    request: async (purser) => {
      const [{ key_id }] = (await purser.api("GET", "/keys")).body;
      return await purser.api("DELETE", `/keys/${key_id}`);
    },
    status: 204,
    check: async (purser) => assert.equal((await purser.api("GET", "/keys")).body[0].status, "revoked"),
  },
  {
    name: "report of a call",
    request: (purser) => purser.api("POST", "/costs/events", [CALL]),
    status: 201,
    check: async (purser) => assert.equal((await purser.api("GET", "/costs")).body[0].cost_usd, 1.5),
  },
  {
    name: "release of what a budget holds",
    prepare: async (purser) => {
      await purser.api("POST", "/budgets", { name: "day", limit_usd: 1, per: "day", mode: "strict" });
      await purser.core.store.write([{
        sql:
          `INSERT INTO reservations (scope, at, reservation_id, worst_nano_usd, estimate_nano_usd, expires_at, is_lost)
          VALUES ('', ?, 'lost', 1000000, 0, 0, 1)`,
        args: [purser.clock.now()],
      }]);
    },
    request: async (purser) => {
      const [{ budget_id }] = (await purser.api("GET", "/budgets")).body;
      return await purser.api("POST", `/budgets/${budget_id}/releases`, { reason: "not on the bill" });
    },
    status: 201,
    check: async (purser) => {
      const [{ budget_id, held_usd }] = (await purser.api("GET", "/budgets")).body;
      assert.deepEqual([held_usd, await lengthOf(purser, `/budgets/${budget_id}/releases`)], [0, 1]);
    },
  },
  {
    name: "run",
    prepare: async (purser) => void await purser.api("PUT", "/agents/a", AGENT),
    request: (purser) => purser.api("POST", "/agents/a/runs", { input: "Hello", session_id: "s1" }),
    status: 200,
    check: async (purser) => {
      const { body } = await purser.api("GET", "/sessions/s1");
      assert.deepEqual([body.status, body.token_usage.model_calls], ["completed", 1]);
    },
  },
  {
    name: "restore of a snapshot",
    request: (purser) => purser.api("POST", "/agents/snapshot/restore", snapshotOf()),
    status: 200,
    check: async (purser) => assert.equal((await purser.messages("ses")).length, 2),
  },
  {
    name: "readiness",
    request: (purser) => purser.api("GET", "/readyz"),
    status: 200,
  },
];

for (const [turn, { name, prepare, request, status, check }] of CASES.entries()) {
  Deno.test({
    name: `${name}: a lost answer of the libSQL server does not change the response`,
    ignore: skipSqld,
    async fn() {
      for (const loss of isThorough ? LOSSES : [LOSSES[turn % 2]!]) {
        for (let which = 1, isOver = false; !isOver; which++) {
          const { url, fetch } = await createMigrated(sqld!);
          const losing = losingFetch(fetch);
          await using purser = await openTestPurser({ config: { dbUrl: url }, fetch: losing.send });
          await prepare?.(purser);
          losing.lose(which, loss);
          const answer = await answerInTime(purser, request(purser));
          isOver = losing.stop() < which;
          const message = `${loss} answer to commit ${which}: ${JSON.stringify(answer.body)}`;
          assert.equal(answer.status, status, message);
          await check?.(purser);
        }
      }
    },
  });
}

/** The clock stands still, and the store waits before it tries again. */
async function answerInTime<T>(purser: TestPurser, answer: Promise<T>): Promise<T> {
  let isDone = false;
  const done = answer.finally(() => isDone = true);
  while (!isDone) {
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20))]).catch(() => {});
    if (!isDone) purser.clock.advance(25);
  }
  return await done;
}
