import assert from "node:assert/strict";
import { type Answer, readRequest, startHttpReceiver, startReceiver } from "../testing/_receiver.ts";
import { DeliveryError } from "../notification.ts";
import { createGuardedPost, type GuardOptions } from "./guarded_http.ts";
import type { PostAnswer } from "./post_json.ts";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];

function post(url: string, options: Parameters<typeof createGuardedPost>[0] = {}): Promise<PostAnswer> {
  return createGuardedPost(options)({ url, body: "{}", signal: new AbortController().signal });
}

async function refusal(url: string, options: GuardOptions & { ca?: string } = {}): Promise<DeliveryError> {
  const error = await post(url, options).then(() => undefined, (error) => error);
  assert.ok(error instanceof DeliveryError, `${url} must be refused`);
  return error;
}

/** A resolver of these names that counts its lookups. */
function nameServer(names: Record<string, string[]>) {
  const asked: string[] = [];
  const lookup = (name: string) => {
    asked.push(name);
    return Promise.resolve(names[name] ?? []);
  };
  return { lookup, asked };
}

Deno.test("createGuardedPost() posts JSON and reads status, headers and body", async () => {
  const answer: Answer = { status: 202, headers: { "X-Thing": "a" }, body: "grüezi" };
  await using receiver = await startHttpReceiver(() => answer);
  const url = `http://127.0.0.1:${receiver.port}/a/b?c=d`;
  const postJson = createGuardedPost({ allowPrivateNetworks: LOOPBACK });
  const { status, headers, body } = await postJson({
    url,
    body: `{"a":"ü"}`,
    headers: { "x-more": "1" },
    signal: new AbortController().signal,
  });
  assert.deepEqual([status, headers["x-thing"], body], [202, "a", "grüezi"]);
  const [request] = receiver.requests;
  assert.equal(`${request!.method} ${request!.path}`, "POST /a/b?c=d");
  assert.equal(request!.body, `{"a":"ü"}`);
  assert.equal(request!.headers["content-type"], "application/json; charset=utf-8");
  assert.equal(request!.headers["content-length"], "10");
  assert.equal(request!.headers["host"], `127.0.0.1:${receiver.port}`);
  assert.equal(request!.headers["x-more"], "1");
  assert.match(request!.headers["user-agent"]!, /^purser\/\d/);
});

Deno.test("createGuardedPost() refuses private addresses in every notation, and connects to none", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 200 }));
  const { lookup } = nameServer({
    "localhost": ["127.0.0.1"],
    "localhost.": ["127.0.0.1"],
    "rebound.example": ["127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.example": ["169.254.169.254", "10.0.0.1"],
  });
  const hosts = [
    ...[
      "127.0.0.1",
      "127.1",
      "0x7f.1",
      "2130706433",
      "017700000001",
      "0",
      "localhost",
      "localhost.",
      "LOCALHOST",
    ],
    ...["[::1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::]"],
    ...["rebound.example", "mapped.example", "metadata.example", "①②⑦.0.0.1"],
  ];
  for (const host of hosts) {
    const error = await refusal(`http://${host}:${receiver.port}/secret-path`, { lookup });
    assert.equal(error.retry, false, host);
    assert.match(error.message, /is a private address; name its network in allow_private_networks/);
    assert.ok(!error.message.includes("secret-path"));
  }
  assert.equal(receiver.connections, 0);
  const { message } = await refusal("http://rebound.example/", { lookup });
  assert.match(message, /^rebound\.example is 127\.0\.0\.1, which is a private address/);
});

Deno.test("createGuardedPost() resolves a name once and connects to the checked address", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 200 }));
  const { lookup, asked } = nameServer({ "hooks.example": ["127.0.0.1"] });
  await post(`http://hooks.example:${receiver.port}/`, { lookup, allowPrivateNetworks: ["127.0.0.1/32"] });
  assert.deepEqual(asked, ["hooks.example"]);
  assert.equal(receiver.requests[0]!.headers.host, `hooks.example:${receiver.port}`);
});

Deno.test("createGuardedPost() never reaches a private address by a name that resolves to another one each time", async () => {
  let secret = 0;
  await using receiver = await startHttpReceiver(() => ({ status: 200 }));
  await using _private = Deno.serve(
    { hostname: "127.0.0.2", port: receiver.port, onListen() {} },
    () => new Response(String(++secret)),
  );
  const orders = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"], [
    "::1",
  ]];
  let lookups = 0;
  const lookup = () => Promise.resolve(orders[lookups++ % orders.length]!);
  const outcomes: string[] = [];
  for (let i = 0; i < 20; i++) {
    const request = post(`http://rebinds.example:${receiver.port}/`, {
      lookup,
      allowPrivateNetworks: ["127.0.0.1/32"],
    });
    outcomes.push(
      await request.then(({ status }) => String(status), ({ retry }) => retry ? "later" : "refused"),
    );
  }
  assert.deepEqual(outcomes.slice(0, 5), ["200", "refused", "200", "200", "refused"]);
  assert.deepEqual([receiver.requests.length, secret, lookups], [12, 0, 20]);
});

Deno.test("createGuardedPost() skips private ones among several addresses", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 200 }));
  const { lookup } = nameServer({ "hooks.example": ["10.0.0.1", "127.0.0.1", "fd00::1"] });
  const url = `http://hooks.example:${receiver.port}/`;
  assert.equal((await post(url, { lookup, allowPrivateNetworks: ["127.0.0.0/8"] })).status, 200);
});

Deno.test("createGuardedPost() tries a host's next address where the first refuses the connection", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 200 }));
  const { lookup } = nameServer({ "hooks.example": ["127.0.0.2", "127.0.0.3", "127.0.0.1"] });
  const options = { lookup, allowPrivateNetworks: LOOPBACK };
  assert.equal((await post(`http://hooks.example:${receiver.port}/`, options)).status, 200);
  assert.equal(receiver.connections, 1);
});

Deno.test("createGuardedPost() does not retry a request that may have arrived", async () => {
  await using receiver = await startReceiver(async (connection) => void await readRequest(connection));
  const { lookup } = nameServer({ "hooks.example": ["127.0.0.1", "127.0.0.1"] });
  const error = await refusal(`http://hooks.example:${receiver.port}/`, {
    lookup,
    allowPrivateNetworks: LOOPBACK,
  });
  assert.equal(error.retry, true);
  assert.match(error.message, /^cannot reach hooks\.example:\d+: connection (reset|closed)$/);
  assert.equal(receiver.connections, 1);
});

Deno.test("createGuardedPost() follows no redirect", async () => {
  await using target = await startHttpReceiver(() => ({ status: 200 }));
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `http://127.0.0.1:${target.port}/`;
    await using receiver = await startHttpReceiver(() => ({ status, headers: { location } }));
    const answer = await post(`http://127.0.0.1:${receiver.port}/`, { allowPrivateNetworks: LOOPBACK });
    assert.equal(answer.status, status);
  }
  assert.equal(target.connections, 0);
});

Deno.test("createGuardedPost() accepts only http and https, and no password in the URL", async () => {
  for (
    const url of [
      "ftp://a.example",
      "file:///etc/passwd",
      "data:,x",
      "a.example",
      "http://u:p4ssword@a.example",
    ]
  ) {
    const { retry, message } = await refusal(url);
    assert.equal(retry, false);
    assert.equal(message, "the address must be an http:// or https:// URL without user and password");
  }
});

Deno.test("createGuardedPost() reads 64 KiB of a response and drops the rest", async () => {
  await using receiver = await startHttpReceiver(() => ({ status: 200, body: "ä".repeat(1024 * 1024) }));
  const { body } = await post(`http://127.0.0.1:${receiver.port}/`, { allowPrivateNetworks: LOOPBACK });
  assert.equal(new TextEncoder().encode(body).length, 64 * 1024);
  await receiver.idle();
});

Deno.test("createGuardedPost() returns a response whose body breaks off", async () => {
  await using receiver = await startReceiver(async (connection) => {
    await readRequest(connection);
    await connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 OK\r\ncontent-length: 100\r\n\r\nhalf");
  });
  const answer = await post(`http://127.0.0.1:${receiver.port}/`, { allowPrivateNetworks: LOOPBACK });
  assert.deepEqual([answer.status, answer.body], [202, "half"]);
});

Deno.test("createGuardedPost() makes a response that is not HTTP retryable", async () => {
  for (
    const said of [
      "220 mail.example ESMTP\r\n",
      "HTTP/1.1 101 Up\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ]
  ) {
    await using receiver = await startReceiver(async (connection) => {
      await readRequest(connection);
      await connection.write(said);
    });
    const error = await refusal(`http://127.0.0.1:${receiver.port}/`, { allowPrivateNetworks: LOOPBACK });
    assert.equal(error.retry, true, error.message);
  }
});

Deno.test("createGuardedPost() makes an unknown name and one without an address retryable", async () => {
  const none = await refusal("http://a.example/", { lookup: () => Promise.resolve([]) });
  assert.deepEqual([none.retry, none.message], [true, "cannot find a.example: it has no address"]);
  const unknown = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  const gone = await refusal("http://a.example/", { lookup: () => Promise.reject(unknown) });
  assert.deepEqual([gone.retry, gone.message], [true, "cannot find a.example: DNS says no such host"]);
});

Deno.test("createGuardedPost() aborts while the name is resolved", async () => {
  const stop = new AbortController();
  const postJson = createGuardedPost({ lookup: () => new Promise(() => {}) });
  const posting = postJson({ url: "http://a.example/", body: "", signal: stop.signal });
  stop.abort();
  await assert.rejects(posting, { retry: true, message: "stopped while looking up the host" });
  await assert.rejects(postJson({ url: "http://a.example/", body: "", signal: stop.signal }), {
    retry: true,
  });
});

Deno.test("createGuardedPost() names an invalid network", () => {
  assert.throws(() => createGuardedPost({ allowPrivateNetworks: ["lan"] }), /"lan".*10\.0\.0\.0\/8/);
});

const tls = (name: string) =>
  Deno.readTextFile(new URL(`../../../../tests/fixtures/tls/${name}`, import.meta.url));

Deno.test("createGuardedPost() verifies the name in TLS though it connects to an address", async () => {
  const [cert, key, ca] = await Promise.all(["server.pem", "server.key", "ca.pem"].map(tls));
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, cert: cert!, key: key!, onListen() {} },
    (request) => new Response(new URL(request.url).hostname),
  );
  const { lookup } = nameServer({
    "hooks.test": ["127.0.0.1"],
    "hooks.test.": ["127.0.0.1"],
    "other.test": ["127.0.0.1"],
  });
  const options = { lookup, allowPrivateNetworks: LOOPBACK, ca: ca! };
  const at = (host: string) => `https://${host}:${server.addr.port}/`;
  assert.equal((await post(at("hooks.test"), options)).body, "hooks.test");
  assert.equal((await post(at("hooks.test."), options)).status, 200);

  const wrongName = await refusal(at("other.test"), options);
  assert.equal(wrongName.retry, true);
  assert.match(wrongName.message, /TLS failed/);
  const unknownAuthority = await refusal(at("hooks.test"), { ...options, ca: undefined });
  assert.equal(unknownAuthority.retry, true);
  assert.match(unknownAuthority.message, /^cannot reach hooks\.test:\d+: TLS failed: .*certificate/);
});
