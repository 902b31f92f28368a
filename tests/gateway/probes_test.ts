import assert from "node:assert/strict";
import { makeKey, openHttpClient } from "../harness/http_client.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { newPlace, startServer } from "../harness/cli_process.ts";
import { inProcess as command } from "../harness/in_process.ts";

/**
 * Requests that only ask whether something answers at a client's base URL, without a key. Claude Code 2.1.332 sends
 * `HEAD /api/hello` below its ANTHROPIC_BASE_URL when it starts (as of 2026-11-26); versions before 2.1.220 sent a `HEAD`
 * of the base URL itself (github.com/headroomlabs-ai/headroom issue 2032, router-for-me/CLIProxyAPI issue 5905).
 */

const PROBES = [
  ...["HEAD /anthropic/api/hello", "GET /anthropic/api/hello", "HEAD /api/hello", "GET /api/hello"],
  ...["HEAD /anthropic", "HEAD /anthropic/", "HEAD /anthropic/v1", "HEAD /openai/v1", "HEAD /openai/v1/"],
  ...["HEAD /gemini", "HEAD /google", "HEAD /gemini/v1beta", "HEAD /v1", "HEAD /v1beta/"],
];

const OTHERS = [
  ...["POST /anthropic/api/hello", "HEAD /anthropic/api/hello/more", "HEAD /anthropic/api", "GET /anthropic"],
  ...[
    "GET /anthropic/v1",
    "HEAD /anthropic/v1/models",
    "HEAD /openai/v1/models",
    "HEAD /local",
    "HEAD /local/v1",
  ],
  ...["HEAD /nobody", "HEAD /agents", "HEAD //anthropic", "HEAD /ANTHROPIC", "HEAD /anthropic%2fapi/hello"],
];

const KEYS_OF = (key: string): Record<string, string>[] => [
  {},
  { authorization: `Bearer ${key}` },
  { "x-api-key": key },
  { authorization: "Bearer psr_wrong" },
  { authorization: `Bearer ${key.slice(0, -1)}` },
  { cookie: "purser_session=made-up" },
];

Deno.test("a probe of a base URL is answered without a key, with nothing, and is no line of the log at info", async () => {
  await using fake = await startFakeProvider(() => assert.fail("nothing is passed on"));
  await using purser = await openTestPurser({ fake });
  const { raw } = openHttpClient(purser);
  const { key } = await makeKey(purser, ["call"]);
  const answers = new Set<string>();
  purser.logs.length = 0;
  for (const probe of PROBES) {
    const [method, path] = probe.split(" ") as [string, string];
    for (const headers of KEYS_OF(key)) {
      const response = await raw(method, path, { headers });
      const { "x-request-id": id, ...rest } = Object.fromEntries(response.headers);
      assert.match(id!, /^req_/);
      answers.add(JSON.stringify([response.status, rest, await response.text()]));
    }
  }
  // One answer, whatever the path and the key: it says nothing about either.
  const headers = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
  assert.deepEqual([...answers].map((answer) => JSON.parse(answer)), [[200, headers, ""]]);
  assert.deepEqual(purser.logs.filter(({ level }) => level !== "debug"), []);
  const lines = purser.logs.filter(({ message }) => message === "Answered a request");
  assert.equal(lines.length, PROBES.length * KEYS_OF(key).length);
  assert.deepEqual(lines.filter(({ fields }) => fields.route !== "/{provider}"), []);
  assert.equal(fake.calls, 0);
});

Deno.test("what is no such probe needs a key as before, and a configured provider looks like an unknown one", async () => {
  const providers = { local: { baseUrl: "http://127.0.0.1:1/v1" } };
  await using purser = await openTestPurser({ config: { providers } });
  const { raw } = openHttpClient(purser);
  await makeKey(purser, ["call"]);
  for (const other of OTHERS) {
    const [method, path] = other.split(" ") as [string, string];
    const response = await raw(method, path);
    await response.body?.cancel();
    assert.equal(response.status, 401, other);
  }
});

Deno.test("wrong keys in probes are no failed attempts, and a key that no probe has shown still works", async () => {
  await using purser = await openTestPurser();
  const { raw } = openHttpClient(purser);
  const { key } = await makeKey(purser, ["call"]);
  for (let attempt = 0; attempt < 30; attempt++) {
    await raw("HEAD", "/anthropic/api/hello", { headers: { authorization: "Bearer psr_wrong" } });
  }
  const response = await raw("GET", "/openai/v1/files", { key });
  await response.body?.cancel();
  assert.equal(response.status, 404);
});

Deno.test("before there is a key, a probe is answered on this machine only, as /healthz is", async () => {
  await using purser = await openTestPurser();
  const { raw } = openHttpClient(purser);
  const local = { headers: { host: "127.0.0.1:8420" } };
  const statusOf = async (path: string, from: string) =>
    (await raw("HEAD", path, from === "127.0.0.1" ? { from, ...local } : { from })).status;
  for (const from of ["127.0.0.1", "192.0.2.1"]) {
    assert.equal(await statusOf("/anthropic/api/hello", from), await statusOf("/healthz", from), from);
  }
  assert.equal(await statusOf("/anthropic/api/hello", "192.0.2.1"), 403);
});

Deno.test("over a socket, a probe has no body, and its connection takes the first call", async () => {
  await using place = await newPlace();
  assert.equal((await command(place, ["keys", "create", "laptop", "--scope", "call"])).code, 0);
  await using server = await startServer(place);
  for (const path of ["/anthropic", "/anthropic/api/hello"]) {
    const response = await fetch(server.url + path, { method: "HEAD" });
    assert.deepEqual([response.status, await response.text()], [200, ""]);
  }
  const refused = await fetch(`${server.url}/anthropic/v1/messages`, { method: "POST", body: "{}" });
  await refused.body?.cancel();
  assert.equal(refused.status, 401);
});
