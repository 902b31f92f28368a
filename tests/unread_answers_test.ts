import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RequestLimitSettings } from "../src/contract/limits.ts";
import { serve } from "../src/http/server/mod.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { newPlace, startServer } from "./harness/cli_process.ts";
import { makeKey } from "./harness/http_client.ts";
import { RawClient } from "./harness/raw_client.ts";
import { openTestPurser, type TestOptions } from "./harness/test_purser.ts";
import { cases } from "./harness/thorough.ts";

/** Clients that ask for much and read nothing: what is held for them is bounded, and others are answered. */

const MEGABYTE = 1024 * 1024;
const HEAD = "Host: localhost";
const get = (path: string, key?: string) =>
  `GET ${path} HTTP/1.1\n${HEAD}\n${key === undefined ? "" : `Authorization: Bearer ${key}\n`}\n`;

async function startLimited(requestLimits: RequestLimitSettings, options: TestOptions = {}) {
  const purser = await openTestPurser({
    clock: systemClock,
    ...options,
    config: { maxBodyBytes: 9 * MEGABYTE, maxContextBytes: 12 * MEGABYTE, ...options.config, requestLimits },
  });
  const first = await makeKey(purser, ["admin"], { name: "first" });
  const second = await makeKey(purser, ["admin"], { name: "second" });
  const server = await serve(purser.core, purser.app, { host: "127.0.0.1", port: 0 });
  const fetchAs = (key: string, path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
  return {
    ...{ purser, first: first.key, second: second.key, fetchAs },
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.shutdown({ graceMs: 0 });
      await purser[Symbol.asyncDispose]();
    },
  };
}

/** Returns a text that no buffer of a connection holds as a whole. */
const prompt = (letter: string) => letter.repeat(8 * MEGABYTE);

/** Reads so slowly that the buffers of the connection stay full, until all that is left is to be read. */
function readSlowly(client: RawClient) {
  let isSlow = true;
  const reading = (async () => {
    while (isSlow) {
      await sleep(200);
      await client.readSome(MEGABYTE / 16);
    }
    const [, body = ""] = (await client.until(/"token_usage":\{[^}]*\}\}$/)).split("\r\n\r\n");
    return JSON.parse(body);
  })();
  return () => {
    isSlow = false;
    return reading;
  };
}

Deno.test("a key whose answers are read slowly gets 429 for more large ones, others don't, and the slow clients get all of theirs", async () => {
  await using server = await startLimited({ answer_bytes_per_key: 12 * MEGABYTE });
  const { purser, first, second, fetchAs } = server;
  await purser.api("PUT", "/agents/a", { model: "demo:echo", system_prompt: prompt("x") });
  using one = await RawClient.connect(server);
  using two = await RawClient.connect(server);
  for (const client of [one, two]) {
    await client.write(get("/agents/a", first));
    await client.isAnswered();
  }
  const rests = [one, two].map(readSlowly);
  const refused = await fetchAs(first, "/agents/a");
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "2"]);
  const { code, details, detail } = await refused.json();
  assert.deepEqual([code, details.limit], ["rate_limited", "answer_bytes_per_key"]);
  assert.match(
    detail,
    /^Cannot answer now: this API key has 12582912 bytes of answers that clients have not read/,
  );
  assert.equal(
    (await (await fetchAs(first, "/costs/total")).json()).model_calls,
    0,
    "small ones are answered",
  );
  const json = { "content-type": "application/json" };
  const bodies: [method: string, path: string, body: unknown][] = [
    ["POST", "/agents/a/runs", { input: "Hi" }],
    ["POST", "/openai/v1/chat/completions", { model: "gpt-4o-mini", messages: [] }],
  ];
  for (const [method, path, body] of bodies) {
    const answer = await fetchAs(first, path, { method, headers: json, body: JSON.stringify(body) });
    assert.deepEqual([answer.status, answer.headers.get("retry-after")], [429, "2"], path);
    await answer.body?.cancel();
  }
  assert.equal((await purser.api("GET", "/runs")).body.length, 0, "before it has an effect");
  const agents = await (await fetchAs(second, "/agents")).json();
  assert.equal(agents[0].system_prompt.length, 8 * MEGABYTE);
  for (const rest of rests) assert.equal((await rest()).system_prompt.length, 8 * MEGABYTE);
  assert.equal((await (await fetchAs(first, "/agents/a")).json()).agent_id, "a");
});

Deno.test("a new answer is made in place of one of which nothing was read for five seconds, not of one that is read", async () => {
  await using server = await startLimited({ answer_bytes: 12 * MEGABYTE });
  const { purser, first, second, fetchAs } = server;
  await purser.api("PUT", "/agents/a", { model: "demo:echo", system_prompt: prompt("x") });
  using unread = await RawClient.connect(server);
  using slow = await RawClient.connect(server);
  for (const client of [unread, slow]) {
    await client.write(get("/agents/a", first));
    await client.isAnswered();
  }
  const rest = readSlowly(slow);
  const answer = await fetchAs(second, "/agents/a"); // waits until then
  assert.equal((await answer.json()).system_prompt.length, 8 * MEGABYTE);
  assert.doesNotMatch(await unread.end(), /"token_usage"/, "it was closed");
  assert.equal((await rest()).system_prompt.length, 8 * MEGABYTE);
});

Deno.test("every large answer counts while it is not read, and no longer", async () => {
  const events = `data: {"choices":[{"delta":{"content":"${"x".repeat(6 * MEGABYTE)}"}}]}\n\n`;
  const whole = `{"choices":[{"message":{"content":"${
    "x".repeat(12 * MEGABYTE)
  }"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`;
  const provider = createServer((request, response) => {
    request.resume();
    const isStream = request.url!.includes("stream");
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? events.repeat(3) + "data: [DONE]\n\n" : whole);
  });
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const baseUrl = (path: string) => `http://127.0.0.1:${(provider.address() as AddressInfo).port}/${path}`;
  await using server = await startLimited({ answer_bytes: 4 * MEGABYTE }, {
    config: {
      providers: { whole: { baseUrl: baseUrl("whole/v1") }, streams: { baseUrl: baseUrl("stream/v1") } },
    },
  });
  const { purser, first, second, fetchAs } = server;
  await purser.api("PUT", "/agents/z", { model: "demo:echo" });
  await purser.api("POST", "/agents/z/runs", { input: prompt("x").slice(0, 5 * MEGABYTE), session_id: "s" });
  await purser.api("POST", "/agents/z/runs", { input: "Hi", session_id: "small" });
  for (let index = 0; index < 3; index++) {
    await purser.api("PUT", `/agents/b${index}`, { model: "demo:echo", system_prompt: prompt("y") });
  }
  const { body: runs } = await purser.api("GET", "/runs?limit=5");
  const run = runs.at(-1).run_id;
  const post = (path: string, body: unknown, more = "") => {
    const text = JSON.stringify(body);
    return `POST ${path} HTTP/1.1\n${HEAD}\nAuthorization: Bearer ${first}\nContent-Type: application/json\n${more}` +
      `Content-Length: ${text.length}\n\n${text}`;
  };
  const requests: Record<string, string> = {
    "the list of agents": get("/agents", first),
    "the same as CSV": get("/agents", first).replace("\n\n", "\nAccept: text/csv\n\n"),
    "a page of agents": get("/agents?limit=3", first),
    "an agent": get("/agents/b1", first),
    "a run": get(`/runs/${run}`, first),
    "the events of a session": get("/sessions/s/events", first),
    "a snapshot": get("/agents/s/snapshot?with_events=true", first),
    "the log": get("/events?after=0", first),
    "the result of a run": post("/agents/z/runs", { input: prompt("z").slice(0, 5 * MEGABYTE) }),
    "an answer of a provider": post("/whole/v1/chat/completions", { model: "m", messages: [] }),
    "the stream of a provider": post("/streams/v1/chat/completions", {
      model: "m",
      stream: true,
      messages: [],
    }),
  };
  /** A run is refused at once, before its agent is looked for. */
  const isRefused = async () => {
    const body = { method: "POST", headers: { "content-type": "application/json" }, body: '{"input":"Hi"}' };
    const answer = await fetchAs(second, "/agents/none/runs", body);
    await answer.body?.cancel();
    return answer.status === 503;
  };
  for (const [name, request] of Object.entries(requests)) {
    assert.equal(await isRefused(), false, `before ${name}`);
    {
      using client = await RawClient.connect(server);
      await client.write(request);
      await client.isAnswered();
      // It is refused at the latest once the buffers of the connection are full.
      let wasRefused = false;
      for (let tries = 0; !wasRefused && tries < 40; tries++) {
        wasRefused = await isRefused() || (await sleep(50), false);
      }
      assert.ok(wasRefused, `${name} counts`);
    }
    for (let tries = 0; await isRefused(); tries++) {
      assert.ok(tries < 100, `${name} counts when its client has left`);
    }
  }
  /** The call of a client that has left is booked a moment later, once its answer has ended. */
  const booked = async (most: number) => {
    for (let tries = 0;; tries++) {
      const { body } = await purser.api("GET", "/costs/total");
      if (body.model_calls >= most || tries === 100) return body.model_calls;
      await sleep(50);
    }
  };
  assert.equal(await booked(5), 5, "and the answers of those that have left have ended");
  // A run can't be made slower: its stream ends, and it continues.
  const ended = new Promise<void>((resolve) =>
    purser.core.bus.subscribe(({ type }) => type === "run.completed" && resolve())
  );
  using client = await RawClient.connect(server);
  await client.write(
    post("/agents/z/runs", { input: prompt("z").slice(0, 5 * MEGABYTE) }, "Accept: text/event-stream\n"),
  );
  assert.doesNotMatch(await client.until(/0\r\n\r\n$/), /event: result/);
  await ended;
  assert.equal(await booked(6), 6, "each call is booked");
  provider.close();
});

Deno.test("no answer is counted for longer than it takes: with room for one, each is answered after the other", async () => {
  await using server = await startLimited({ answer_bytes: 1 });
  const { purser, first, fetchAs } = server;
  await purser.api("PUT", "/agents/a", { model: "demo:echo", system_prompt: "x".repeat(100_000) });
  await purser.api("POST", "/agents/a/runs", { input: "x".repeat(100_000), session_id: "s" });
  const { body: [run] } = await purser.api("GET", "/runs");
  const paths = [
    ...["/agents", "/agents?limit=1", "/agents/a", "/agents/none", `/runs/${run.run_id}`, "/runs", "/costs"],
    ...[
      "/sessions/s/events",
      "/sessions/s/events/imported",
      "/agents/s/snapshot",
      "/agents/s/snapshot?with_events=true",
    ],
    ...["/metrics", "/openapi.json", "/docs", "/ui/", "/doctor", "/sessions/s/costs", "/live?once=true"],
  ];
  const { headers } = await fetchAs(first, "/agents/s/snapshot", { method: "HEAD" });
  const tags: Record<string, string> = { "if-none-match": headers.get("etag")! };
  for (let round = 0; round < 2; round++) {
    for (const path of paths) {
      for (const init of [{}, { method: "HEAD" }, { headers: tags }, { headers: { accept: "text/csv" } }]) {
        const answer = await fetchAs(first, path, init);
        await (round === 1 ? answer.body?.cancel() : answer.arrayBuffer());
        assert.ok(
          answer.status < 500 && answer.status !== 429,
          `${path} ${JSON.stringify(init)}: ${answer.status}`,
        );
      }
    }
    const put = {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: '{"model":"demo:echo"}',
    };
    assert.equal((await fetchAs(first, "/agents/b", put)).status, round === 0 ? 201 : 200);
    const events = await fetchAs(first, "/events?after=0");
    await events.body!.getReader().read();
  }
});

/** Reads the memory of a process in megabytes, and keeps the most that it was. */
function watchMemory(pid: number) {
  const read = async () => {
    const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/status`] }).output();
    return Number(/VmHWM:\s+(\d+)/.exec(new TextDecoder().decode(stdout))?.[1]) / 1024;
  };
  return { most: read };
}

Deno.test({
  name:
    "a server whose clients ask for large sessions and agents and read nothing keeps its memory, and answers others",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using place = await newPlace();
    await using server = await startServer(place);
    const send = async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(server.url + path, {
        method,
        ...(body !== undefined &&
          { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      return { status: answer.status, body: await answer.json() };
    };
    await send("PUT", "/agents/echo", { model: "demo:echo" });
    await send("POST", "/agents/echo/runs", { input: "x".repeat(2_900_000), session_id: "s" });
    for (let index = 0; index < 10; index++) {
      await send("PUT", `/agents/a${index}`, { model: "demo:echo", system_prompt: "x".repeat(2_000_000) });
    }
    const paths = ["/agents/s/snapshot?with_events=true", "/agents", "/sessions/s/events", "/agents/a1"];
    const clients: RawClient[] = [];
    for (let index = 0; index < cases(250); index++) {
      const client = await RawClient.connect(server);
      clients.push(client);
      await client.write(get(paths[index % paths.length]!));
    }
    const times: number[] = [];
    for (
      const until = performance.now() + Math.min(cases(2_000), 30_000);
      performance.now() < until;
      await sleep(50)
    ) {
      const startedAt = performance.now();
      for (const path of ["/healthz", "/costs/total", "/sessions?limit=1"]) {
        assert.equal((await send("GET", path)).status, 200, path);
      }
      times.push(performance.now() - startedAt);
    }
    const most = await watchMemory(server.child.pid).most();
    assert.ok(most < 650, `${most} MB`);
    times.sort((a, b) => a - b);
    const median = times[times.length >> 1]!;
    assert.ok(median < 1_000, `three requests took ${median} ms`);
    for (const client of clients) client[Symbol.dispose]();
    // Those that are gone hold nothing.
    for (let tries = 0; (await send("GET", "/agents/a1")).status !== 200; tries++) assert.ok(tries < 20);
    const { body } = await send("GET", "/agents");
    assert.equal(body.length, 11);
  },
});
