import assert from "node:assert/strict";
import { listen, withAccessCheck } from "../src/http/server/mod.ts";
import { newPlace, type Place, purser as command, start } from "./harness/cli_process.ts";
import { until } from "./harness/deliveries.ts";
import { problemOf, RawClient } from "./harness/raw_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** SIGTERM while requests are arriving, being answered, and not read. */

const REPORT = {
  at: "2026-01-01T09:30:00.000Z",
  agent_id: "a",
  provider: "local",
  model: "priced",
  input_tokens: 10,
  output_tokens: 1,
};
const reportOf = (callId: string, at = REPORT.at) => JSON.stringify([{ call_id: callId, ...REPORT, at }]);

const headOf = (length: number) =>
  `POST /costs/events HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: ${length}\n\n`;

/** A Purser with a server, and a client that has sent a request up to its body. */
async function withArrivingBody() {
  const purser = await openTestPurser();
  const arrived = Promise.withResolvers<void>();
  const handle = withAccessCheck(purser.core, purser.app);
  const server = await listen(purser.core, (request, from) => {
    arrived.resolve();
    return handle(request, from);
  }, { host: "127.0.0.1", port: 0 });
  const client = await RawClient.connect(server);
  const body = reportOf("c1");
  await client.write(headOf(body.length) + body.slice(0, 20));
  await arrived.promise;
  return {
    ...{ purser, server, client, body },
    countCalls: async () => (await purser.api("GET", "/costs")).body[0]?.model_calls ?? 0,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await purser[Symbol.asyncDispose]();
    },
  };
}

/** Lets time pass until a promise resolves. */
async function passUntil({ clock }: TestPurser, ended: Promise<void>): Promise<void> {
  let hasEnded = false;
  void ended.then(() => hasEnded = true);
  await until(() => {
    if (!hasEnded) clock.advance(1_000);
    return hasEnded;
  });
}

Deno.test("a report whose body arrives during the shutdown is booked, and its connection closed", async () => {
  await using test = await withArrivingBody();
  const { purser, server, client, body } = test;
  purser.core.stop();
  const ended = server.shutdown();
  await client.write(body.slice(20));
  const text = await client.end();
  assert.match(text, /^HTTP\/1\.1 201 .*connection: close/is);
  await ended;
  assert.equal(await test.countCalls(), 1);
});

Deno.test("a report whose body doesn't arrive before the end gets a 503 with Retry-After, and is not booked", async () => {
  await using test = await withArrivingBody();
  const { purser, server, client } = test;
  purser.core.stop();
  const ended = server.shutdown({ graceMs: 1_000 });
  purser.clock.advance(1_000);
  const { status, code, detail, head } = problemOf(await client.end());
  assert.deepEqual([status, code], [503, "unavailable"]);
  assert.equal(detail, "Cannot finish: the server is shutting down; try again");
  assert.match(head, /retry-after: 1/i);
  await passUntil(purser, ended);
  assert.equal(await test.countCalls(), 0);
});

Deno.test("an event stream that is not read does not delay the shutdown", async () => {
  await using purser = await openTestPurser();
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    host: "127.0.0.1",
    port: 0,
  });
  using client = await RawClient.connect(server);
  await client.write("GET /events?after=0 HTTP/1.1\nHost: localhost\n\n");
  await client.until(/200 OK/);
  // More than the buffers of both sides hold.
  for (let run = 0; run < 40; run++) {
    await purser.run({}, "x".repeat(250_000), { sessionId: `s${run}` });
  }
  purser.core.stop();
  const startedAt = purser.clock.monotonic();
  await passUntil(purser, server.shutdown({ graceMs: 3_600_000 }));
  // Far less than the time that requests get.
  assert.ok(purser.clock.monotonic() - startedAt < 1_800_000);
});

/** Starts a server in a process of its own. */
async function startServer(place: Place) {
  const child = start(place, ["serve", "--port", "0"]);
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  const untilSays = async (pattern: RegExp): Promise<string> => {
    while (!pattern.test(said)) said += (await reader.read()).value ?? assert.fail(said);
    return pattern.exec(said)![0];
  };
  await untilSays(/database/);
  return {
    child,
    url: await untilSays(/http:[\w.:/]+/).then((url) => new URL(url).origin),
    untilSays,
    /** Reads what is said until the process has ended; returns its exit code. */
    async ended() {
      const drained = (async () => {
        while (!(await reader.read()).done);
      })();
      await Promise.all([drained, child.stdout.cancel()]);
      return (await child.status).code;
    },
  };
}

/** The time that a server has to end after a signal. */
const SHUTDOWN_MS = 10_000;

Deno.test("SIGTERM under load ends in ten seconds: each report that was sent before is booked, others may get a 503", async () => {
  await using place = await newPlace();
  const server = await startServer(place);
  const { child, url } = server;
  const statuses = { before: [] as number[], after: [] as number[] };
  const failures: string[] = [];
  let [sent, isOver, isSignaled] = [0, false, false];
  const load = Array.from({ length: 8 }, async (_, client) => {
    while (!isOver) {
      const isBefore = !isSignaled;
      try {
        const body = reportOf(`${client}-${sent++}`, new Date().toISOString());
        const response = await fetch(`${url}/costs/events`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
        await response.body!.cancel();
        statuses[isBefore ? "before" : "after"].push(response.status);
      } catch (error) {
        isOver = true;
        // After the end, connecting is refused; a request that was sent must not fail.
        const reason = String((error as Error).cause ?? error);
        if (!/refused/i.test(reason)) failures.push(reason);
      }
    }
  });
  // One whose body arrives byte by byte, once the server no longer accepts connections.
  using slow = await RawClient.connect({ url });
  const body = reportOf("slow", new Date().toISOString());
  await slow.write(headOf(body.length) + body.slice(0, 20));
  while (statuses.before.length < 100 && !isOver) await new Promise((resolve) => setTimeout(resolve));
  child.kill("SIGTERM");
  isSignaled = true;
  const signaledAt = performance.now();
  await server.untilSays(/Shutting down/);
  await Promise.all(load);
  for (const piece of body.slice(20)) {
    await slow.write(piece);
    await new Promise((resolve) => setTimeout(resolve));
  }
  assert.match(await slow.end(), /^HTTP\/1\.1 201 /);
  assert.equal(await server.ended(), 0);
  assert.ok(performance.now() - signaledAt < SHUTDOWN_MS);
  assert.deepEqual(failures, []);
  assert.deepEqual([...new Set(statuses.before)], [201]);
  assert.deepEqual(statuses.after.filter((status) => status !== 201 && status !== 503), []);
  const { out } = await command(place, ["cost", "--json"]);
  const [{ model_calls: booked }] = JSON.parse(out);
  const answered = [...statuses.before, ...statuses.after, 201].filter((status) => status === 201);
  assert.equal(booked, answered.length);
});

Deno.test("a second signal ends the server at once, with a request in flight and hours left for it", async () => {
  await using place = await newPlace();
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(
    `${place.folder}/purser/purser.json`,
    JSON.stringify({ limits: { shutdown_seconds: 3_600 } }),
  );
  const server = await startServer(place);
  using client = await RawClient.connect(server);
  await client.write(headOf(1_000).replace("\n\n", "\nExpect: 100-continue\n\n"));
  await client.until(/100 Continue/);
  await client.write("[");
  server.child.kill("SIGTERM");
  await server.untilSays(/Shutting down/);
  server.child.kill("SIGTERM");
  assert.equal(await server.ended(), 130);
  assert.doesNotMatch(await client.end(), /HTTP\/1\.1 [2-5]/); // no answer
});

Deno.test("a stream whose request never arrives whole ends with its connection, and frees its place", async () => {
  await using purser = await openTestPurser({ config: { requestLimits: { streams: 1 } } });
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    host: "127.0.0.1",
    port: 0,
  });
  for (let request = 0; request < 3; request++) {
    using client = await RawClient.connect(server);
    await client.write("GET /events HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nab");
    if (request === 2) {
      await client.write("cde");
      await client.until(/200 OK/); // the rest has arrived
    } else await client.closeWrite();
    if (request < 2) assert.equal(await client.end(), "");
  }
  await server.shutdown({ graceMs: 0 });
});

Deno.test("the response to HEAD declares no length but that of GET", async () => {
  await using purser = await openTestPurser();
  const server = await listen(purser.core, withAccessCheck(purser.core, purser.app), {
    host: "127.0.0.1",
    port: 0,
  });
  using client = await RawClient.connect(server);
  await client.write("HEAD /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n");
  assert.doesNotMatch(await client.end(), /content-length: 0/i);
  await server.shutdown({ graceMs: 0 });
});
