import assert from "node:assert/strict";
import { rejection } from "../../../../tests/harness/test_purser.ts";
import { createFetchPost } from "./fetch_post.ts";
import { MAX_ANSWER_BYTES } from "./http_client.ts";

const signal = new AbortController().signal;
const reached: { url: string; init: RequestInit }[] = [];
const answering = (answer: () => Response): typeof fetch => (input, init) => {
  reached.push({ url: String(input), init: init! });
  return Promise.resolve(answer());
};

Deno.test("createFetchPost() reaches public names and addresses, and those that are allowed", async () => {
  const post = createFetchPost({
    allowPrivateNetworks: ["127.0.0.0/8"],
    fetch: answering(() => new Response("ok")),
  });
  for (
    const url of [
      "https://hooks.example.com/a",
      "http://8.8.8.8/",
      "http://[2606:4700::1111]/",
      "http://127.0.0.1:8080/",
      "http://localhost/",
      "http://LOCALHOST./",
      "http://2130706433/", // 127.0.0.1 as a number
      "https://localhost.example.com/",
    ]
  ) {
    assert.deepEqual((await post({ url, body: "{}", signal })).body, "ok", url);
  }
});

Deno.test("createFetchPost() refuses private addresses in every notation, and names that can't be public", async () => {
  const post = createFetchPost({ fetch: answering(() => assert.fail("it was reached")) });
  const addresses = [
    ...[
      "http://127.0.0.1/",
      "http://0x7f.1/",
      "http://10.0.0.1/",
      "http://169.254.169.254/latest",
      "http://[::1]/",
    ],
    ...["http://[::ffff:10.0.0.1]/", "http://localhost:8080/", "http://localhost./", "http://192.168.1.1/"],
  ];
  for (const url of addresses) {
    const error = await rejection(post({ url, body: "{}", signal }));
    assert.match(error.message, /is a private address; name its network in allow_private_networks/, url);
    assert.equal(error.retry, false);
  }
  const names = [
    ...["http://intranet/", "http://metadata.google.internal/", "http://printer.local/", "http://nas.lan./"],
    ...["http://a.localhost/", "http://db.home.arpa/", "http://x.test/", "http://LDAP.CORP/"],
  ];
  for (const url of names) {
    const error = await rejection(post({ url, body: "{}", signal }));
    assert.match(error.message, /is no public name/, url);
    assert.equal(error.retry, false);
  }
  for (const url of ["ftp://example.com/", "https://user:password@example.com/", "nonsense"]) {
    assert.equal((await rejection(post({ url, body: "{}", signal }))).retry, false, url);
  }
});

Deno.test("createFetchPost() sends JSON with the given headers, follows no redirect, and reads 64 KiB at most", async () => {
  let isCancelled = false;
  const endless = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(40_000).fill(0x61)),
        cancel: () => void (isCancelled = true),
      }),
      { status: 307, headers: { location: "http://10.0.0.1/", "retry-after": "5" } },
    );
  const post = createFetchPost({ fetch: answering(endless) });
  const headers = { "webhook-id": "dlv_1" };
  const answer = await post({ url: "https://hooks.example.com/", body: '{"a":1}', headers, signal });
  assert.deepEqual([answer.status, answer.headers["retry-after"]], [307, "5"]);
  assert.equal(answer.body.length, MAX_ANSWER_BYTES);
  assert.ok(isCancelled);
  const { init } = reached.at(-1)!;
  assert.deepEqual([init.redirect, init.method, init.body], ["manual", "POST", '{"a":1}']);
  const sent = new Headers(init.headers);
  assert.equal(sent.get("webhook-id"), "dlv_1");
  assert.match(sent.get("content-type")!, /^application\/json/);
  assert.match(sent.get("user-agent")!, /^purser\//);
});

Deno.test("createFetchPost() makes a network failure retryable, and names only the host", async () => {
  const post = createFetchPost({ fetch: () => Promise.reject(new TypeError("connection refused")) });
  const error = await rejection(post({ url: "https://hooks.example.com/secret", body: "{}", signal }));
  assert.match(error.message, /^cannot reach hooks\.example\.com: connection refused$/);
  assert.equal(error.retry, true);
  const stopping = AbortSignal.abort();
  const stopped = createFetchPost({ fetch: () => Promise.reject(stopping.reason) });
  const late = await rejection(stopped({ url: "https://hooks.example.com/", body: "{}", signal: stopping }));
  assert.equal(late.message, "stopped before there was an answer");
});
