import assert from "node:assert/strict";
import { checkAllEnded, checkBooks } from "../harness/check_books.ts";
import { type DatabaseServer, serverKindsInTime } from "../harness/database_servers.ts";
import { type Fleet, type Instance, type InstanceAnswer, openFleet } from "../harness/instances.ts";
import { cases } from "../harness/thorough.ts";
import { lookInto, until } from "./alert_workers.ts";

/** Real servers under load while their database server hangs, is killed and comes back, and one of them dies. */

const REPORTERS = 4;
const RUNNERS = 2;
const CALLS_PER_REPORT = 3;

/** The pause of a client after an answer: without it, clients take all processors while servers start and come back. */
const PAUSE_MS = 50;

/** The calls that are acknowledged before each fault, and after the last. */
const CALLS = cases(16);

/** Four servers; one that is killed is replaced. */
interface Servers {
  at(index: number): Instance;
  all(): readonly Instance[];
  replace(index: number, next: Instance): void;
}

/** The calls and runs acknowledged to clients. */
interface Acknowledged {
  reported: Set<string>;
  runs: { runId: string; costUsd: number }[];
  refused: number;
}

for (const { name, ignore, start } of serverKindsInTime) {
  Deno.test({
    name:
      `${name}: four servers under load lose nothing that they acknowledged when it hangs, dies and comes back`,
    ignore,
    async fn() {
      await using database = await start(true);
      await using fleet = await openFleet({ db: database.url, remote_timeout_ms: 1_500 });
      const running = await Promise.all(["a", "b", "c", "d"].map((name) => fleet.start(name)));
      const servers: Servers = {
        all: () => running,
        at: (index) => running[index % running.length]!,
        replace: (index, next) => void (running[index] = next),
      };
      assert.equal((await servers.at(0).send("PUT", "/agents/echo", { model: "demo:echo" })).status, 201);
      for (const { lines } of running) {
        assert.doesNotMatch(lines.join("\n"), /durability/i, "each commit is on the disk");
      }

      const acknowledged: Acknowledged = { reported: new Set(), runs: [], refused: 0 };
      const load = startLoad(servers, acknowledged);
      await load.untilMore(acknowledged, CALLS);
      await hang(database, servers);
      await load.untilMore(acknowledged, CALLS);
      await killAndRestart(database, servers);
      await load.untilMore(acknowledged, CALLS);
      await replaceServer(fleet, servers, 2);
      await load.untilMore(acknowledged, CALLS);
      await load.stop();

      await using store = await lookInto(database.url);
      const ledger = await checkBooks(store);
      for (const callId of acknowledged.reported) assert.ok(ledger.has(callId), `${callId} was acknowledged`);
      const { rows } = await store.read({
        sql: `SELECT r.run_id, r.status, sum(s.whole_usd) * 1000000000 + sum(s.rest_nano_usd) FROM runs r
        LEFT JOIN run_usage s ON s.run_id = r.run_id GROUP BY r.run_id`,
      });
      const runs = new Map(rows.map(([runId, status, cost]) => [runId as string, { status, cost }]));
      for (const { runId, costUsd } of acknowledged.runs) {
        assert.deepEqual(runs.get(runId), { status: "completed", cost: BigInt(Math.round(costUsd * 1e9)) });
      }
      // Reports were sent again until they were acknowledged, so that the rest is what runs have booked.
      const reported = [...ledger].filter((callId) => callId.startsWith("reported-"));
      assert.deepEqual(new Set(reported), acknowledged.reported);
      // A minute passes, and any server recovers what the dead one has left.
      await store.write([{ sql: "UPDATE runs SET lease_until = 1 WHERE status = 'running'" }]);
      await fleet.start("last");
      await until(
        "all is ended",
        async () =>
          Number(
            (await store.read({ sql: "SELECT count(*) FROM deliveries WHERE status = 'pending'" }))
              .rows[0]![0],
          ) === 0,
      );
      await checkAllEnded(store);
      await checkBooks(store);
      assert.ok(acknowledged.refused > 0, "the outages were felt");
      console.log(
        `      ${acknowledged.reported.size} reported calls and ${acknowledged.runs.length} runs acknowledged, ${acknowledged.refused} requests refused`,
      );
    },
  });

  Deno.test({
    name:
      `${name}: a server that starts while it is down reports it and ends, and one on a database that may lose commits warns`,
    ignore,
    async fn() {
      const database = await start(false);
      await using fleet = await openFleet({ db: database.url, remote_timeout_ms: 3_000 });
      const server = await fleet.start("a");
      const warnings = server.lines.filter((line) => line.includes('"level":"warn"'));
      assert.equal(warnings.length, 1);
      assert.match(
        warnings[0]!,
        /(?:not in its strong durability mode|not flushed to the disk).*may lose the last/,
      );
      const cost = await fleet.command("cost");
      assert.deepEqual([cost.code, cost.err], [0, ""], "a command doesn't warn");
      await database[Symbol.asyncDispose]();
      await assert.rejects(
        fleet.start("late"),
        /late ended: .*Cannot read the database at 127\.0\.0\.1:\d+: /s,
      );
    },
  });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Starts clients that report calls, each again until it is acknowledged, and that run an agent. */
function startLoad(servers: Servers, acknowledged: Acknowledged) {
  let isOver = false;
  let turn = 0;
  const report = async (client: number) => {
    for (let count = 0; !isOver; count++) {
      const calls = Array.from({ length: CALLS_PER_REPORT }, (_, index) => callOf(client, count, index));
      for (;;) {
        const { status, body } = await servers.at(turn++).send("POST", "/costs/events", calls);
        if (status === 201) break;
        refuse(status, body);
        await pause();
      }
      for (const { call_id } of calls) acknowledged.reported.add(call_id);
      await pause();
    }
  };
  const run = async (client: number) => {
    for (let count = 0; !isOver; count++) {
      const path = "/agents/echo/runs";
      const answer = await servers.at(turn++).send("POST", path, {
        input: `${count}`,
        session_id: `ses-${client}-${count}`,
      });
      if (answer.status !== 200) refuse(answer.status, answer.body);
      else acknowledged.runs.push({ runId: answer.body.run_id, costUsd: answer.body.token_usage.cost_usd });
      await pause();
    }
  };
  const refuse = (status: number, body: InstanceAnswer["body"]) => {
    acknowledged.refused++;
    // Requests to a server that was killed are refused.
    const logs = () =>
      servers.all().flatMap(({ lines }) => lines.filter((line) => line.includes(body?.details?.request_id)));
    assert.ok(status === 503 || status === 0, `${status} ${JSON.stringify(body)} ${logs().join("\n")}`);
  };
  const clients = [
    ...Array.from({ length: REPORTERS }, (_, client) => report(client)),
    ...Array.from({ length: RUNNERS }, (_, client) => run(client)),
  ];
  const failed = Promise.all(clients);
  return {
    /** Waits until so many more calls were acknowledged, which takes a working service. */
    async untilMore({ reported }: Acknowledged, count: number) {
      const enough = reported.size + count;
      await Promise.race([
        until("calls are booked", () => Promise.resolve(reported.size >= enough)),
        failed.then(() => assert.fail("the load has ended")),
      ]);
    },
    async stop() {
      isOver = true;
      await failed;
    },
  };
}

function callOf(client: number, count: number, index: number) {
  return {
    call_id: `reported-${client}-${count}-${index}`,
    at: new Date().toISOString(),
    agent_id: `agent-${client % 3}`,
    session_id: `reported-${client}`,
    run_id: `reported-${client}-${count}`,
    ...{ provider: "elsewhere", model: "model", input_tokens: 10, output_tokens: index, cost_usd: 0.000_001 },
  };
}

/** While it hangs every server reports it within its timeout; the server continues only then. */
async function hang(database: DatabaseServer, servers: Servers): Promise<void> {
  await database.pause();
  await askAll(servers, 503);
  database.resume();
  await untilReady(servers);
}

async function killAndRestart(database: DatabaseServer, servers: Servers): Promise<void> {
  await database.kill();
  await askAll(servers, 503);
  await database.restart();
  await untilReady(servers);
}

async function replaceServer(fleet: Fleet, servers: Servers, index: number): Promise<void> {
  await servers.at(index).kill();
  servers.replace(index, await fleet.start("replacement"));
}

/** Readiness, a list, and a write: all are answered while it is down. */
async function askAll(servers: Servers, expected: number): Promise<void> {
  const answers = await Promise.all([0, 1, 2, 3].flatMap((index) => [
    servers.at(index).send("GET", "/readyz"),
    servers.at(index).send("GET", "/costs"),
    servers.at(index).send("PUT", "/agents/other", { model: "demo:echo" }),
  ]));
  for (const { status, body } of answers) {
    assert.deepEqual([status, body.code], [expected, "unavailable"]);
    assert.match(body.detail, /^Cannot (read|write) the database at 127\.0\.0\.1:\d+: /);
  }
  for (const index of [0, 1, 2, 3]) {
    assert.equal((await servers.at(index).send("GET", "/healthz")).status, 200);
  }
}

async function untilReady(servers: Servers): Promise<void> {
  for (const index of [0, 1, 2, 3]) {
    await until(
      "it is ready again",
      async () => (await servers.at(index).send("GET", "/readyz")).status === 200,
    );
  }
}
