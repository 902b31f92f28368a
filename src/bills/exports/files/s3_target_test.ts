import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { fixedClock } from "../../../kernel/clock.ts";
import { openTarget } from "./export_target.ts";

const NOW = "2026-11-21T09:30:00.000Z";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const ENV = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: SECRET, AWS_REGION: "eu-central-1" };

const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const hmac = (key: string | Uint8Array, text: string) => createHmac("sha256", key).update(text).digest();

/** Checks a request as S3 does, by Signature Version 4; returns a fault, or undefined. */
function faultOf(request: Request, body: Uint8Array): [status: number, code: string] | undefined {
  const { method, headers } = request;
  const url = new URL(request.url);
  const [, scope, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/(\S+), SignedHeaders=(\S+), Signature=(\w{64})$/.exec(
      headers.get("authorization") ?? "",
    ) ?? [];
  if (!scope) return [403, "AccessDenied"];
  if (headers.get("x-amz-content-sha256") !== sha256(body)) return [400, "XAmzContentSHA256Mismatch"];
  for (const name of ["host", "x-amz-content-sha256", "x-amz-date"]) {
    if (!names!.split(";").includes(name)) return [403, "AccessDenied"];
  }
  const canonical = [
    method,
    url.pathname,
    url.searchParams.toString(),
    ...names!.split(";").map((name) => `${name}:${name === "host" ? url.host : headers.get(name)!.trim()}`),
    "",
    names,
    headers.get("x-amz-content-sha256"),
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers.get("x-amz-date"), scope, sha256(canonical)].join("\n");
  const key = scope.split("/").reduce<string | Uint8Array>((key, part) => hmac(key, part), `AWS4${SECRET}`);
  return hmac(key, toSign).toString("hex") === signature ? undefined : [403, "SignatureDoesNotMatch"];
}

/** An answer in place of the usual one; `late` is none until the request is given up. */
type Trouble = (request: Request) => Response | "late" | undefined;

/** S3 in memory: it refuses what is not signed. `trouble` answers instead of it. */
function fakeS3(trouble: Trouble = () => undefined) {
  const objects = new Map<string, Uint8Array>();
  const requests: string[] = [];
  const send = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { pathname, host } = new URL(request.url);
    requests.push(`${request.method} ${host}${pathname}`);
    const answer = trouble(request);
    if (answer === "late") await givenUp(request.signal);
    else if (answer) return answer;
    const body = new Uint8Array(await request.arrayBuffer());
    const fault = faultOf(request, body);
    if (fault) return xml(...fault);
    if (request.method === "PUT") objects.set(host + pathname, body);
    if (request.method === "DELETE") objects.delete(host + pathname);
    const found = objects.get(host + pathname);
    if (request.method === "GET") return found ? new Response(new Uint8Array(found)) : xml(404, "NoSuchKey");
    return new Response(null, { status: request.method === "DELETE" ? 204 : 200 });
  };
  return { objects, requests, fetch: send as typeof globalThis.fetch };
}

const xml = (status: number, code: string) =>
  new Response(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Because &amp; so</Message></Error>`,
    { status },
  );

/** Rejects once a request is given up. */
const givenUp = (signal: AbortSignal) =>
  new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  );

/** A clock that doesn't wait between requests; `endTimers` is the moment at which a request has taken too long. */
function eager() {
  const waits: number[] = [];
  const timers = new Set<() => void>();
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (!signal) return Promise.resolve(void waits.push(ms));
    return new Promise((resolve) => {
      timers.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
  return { waits, clock: { ...fixedClock(NOW), sleep }, endTimers: () => timers.forEach((end) => end()) };
}

const bytes = new TextEncoder().encode("a,b\r\n1,2\r\n");

Deno.test("an export to a bucket writes, reads and removes objects by signed requests, with the hash of each body", async () => {
  const s3 = fakeS3();
  const { clock } = eager();
  const target = await openTarget({ env: ENV, clock, fetch: s3.fetch }, "s3://acme-finance/purser/x y+z/");
  assert.equal(await target.readText("manifest.json"), undefined);
  await target.put("focus-1.4.csv", bytes, sha256(bytes));
  assert.equal(await target.readText("focus-1.4.csv"), "a,b\r\n1,2\r\n");
  assert.deepEqual([...s3.objects.keys()], [
    "acme-finance.s3.eu-central-1.amazonaws.com/purser/x%20y%2Bz/focus-1.4.csv",
  ]);
  await target.remove("focus-1.4.csv");
  assert.equal(s3.objects.size, 0);
});

Deno.test("another service than AWS is reached at its own address, and a token of a session is signed too", async () => {
  const s3 = fakeS3();
  const env = {
    ...ENV,
    AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9000/",
    AWS_SESSION_TOKEN: "token",
    AWS_REGION: "",
  };
  const target = await openTarget({ env, clock: eager().clock, fetch: s3.fetch }, "s3://bucket.with.dots");
  await target.put("a", bytes, sha256(bytes));
  assert.deepEqual(s3.requests, ["PUT 127.0.0.1:9000/bucket.with.dots/a"]);
});

Deno.test("a refusal is not repeated, and is told with what the service says, without the secret", async () => {
  for (
    const [status, code, message] of [
      [403, "AccessDenied", "it answered 403, AccessDenied: Because &amp; so"],
      [301, "PermanentRedirect", "it answered 301, PermanentRedirect: Because &amp; so"],
      [404, "NoSuchBucket", "it answered 404, NoSuchBucket: Because &amp; so"],
    ] as const
  ) {
    const s3 = fakeS3(() => xml(status, code));
    const target = await openTarget({ env: ENV, clock: eager().clock, fetch: s3.fetch }, "s3://bucket/p");
    for (const task of [() => target.put("a.csv", bytes, sha256(bytes)), () => target.readText("a.csv")]) {
      await assert.rejects(task, (error: Error) => {
        assert.equal(error.message, `Cannot export to s3://bucket/p: a.csv: ${message}`);
        return !error.message.includes(SECRET);
      });
    }
    assert.equal(s3.requests.length, 2);
  }
  const wrong = await openTarget({
    env: { ...ENV, AWS_SECRET_ACCESS_KEY: "no" },
    clock: eager().clock,
    fetch: fakeS3().fetch,
  }, "s3://bucket");
  await assert.rejects(wrong.put("a", bytes, sha256(bytes)), /403, SignatureDoesNotMatch/);
});

Deno.test("a busy service and one that doesn't answer in time are asked again, with growing waits, and not for ever", async () => {
  let answers: (Response | "late")[] = [xml(503, "SlowDown"), "late"];
  const { clock, waits, endTimers } = eager();
  const s3 = fakeS3(() => {
    const answer = answers.shift();
    if (answer === "late") queueMicrotask(endTimers);
    return answer;
  });
  const target = await openTarget({ env: ENV, clock, fetch: s3.fetch }, "s3://bucket/p");
  await target.put("a.csv", bytes, sha256(bytes));
  assert.deepEqual([s3.objects.size, waits], [1, [500, 2_000]]);
  answers = Array.from({ length: 9 }, () => "late" as const);
  await assert.rejects(
    target.put("b.csv", bytes, sha256(bytes)),
    /Cannot export to s3:\/\/bucket\/p: b\.csv: no answer within 60 s/,
  );
  assert.equal(s3.requests.length, 3 + 4);
});

Deno.test("an address that is no bucket, and missing credentials, are refused before anything is sent", async () => {
  const s3 = fakeS3();
  const open = (to: string, env: Record<string, string> = ENV) =>
    openTarget({ env, clock: eager().clock, fetch: s3.fetch }, to);
  await assert.rejects(open("s3:///x"), /not of the form s3:\/\/BUCKET\/PREFIX/);
  await assert.rejects(open("s3://Bucket_X/y"), /not of the form/);
  await assert.rejects(open("s3://bucket/x", {}), /the environment has no AWS_ACCESS_KEY_ID; set it/);
  await assert.rejects(open("s3://bucket/x", { AWS_ACCESS_KEY_ID: "a" }), /no AWS_SECRET_ACCESS_KEY/);
  assert.deepEqual(s3.requests, []);
});
