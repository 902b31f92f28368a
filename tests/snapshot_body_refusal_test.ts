import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { assertProblem } from "./harness/assert_problem.ts";
import { dump } from "./harness/booking.ts";
import { bytesOf, FULL, FULL_TEXT, gzip, RESTORE, testRefusals } from "./harness/refusals.ts";
import { snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser } from "./harness/test_purser.ts";

const SMALL = JSON.stringify(snapshotOf());
const LIMIT = { config: { maxSnapshotBytes: SMALL.length } };
const tooLarge = { status: 413, code: "too_large", detail: new RegExp(`over ${SMALL.length} bytes`) };

testRefusals(
  "a document over the limit is refused: by its length, while it is received, and decompressed",
  async (refuse) => {
    await refuse(SMALL + " ", tooLarge);
    await refuse(SMALL + " ", { ...tooLarge, headers: { "content-length": String(SMALL.length + 1) } });
    await refuse(SMALL, { ...tooLarge, headers: { "content-length": String(SMALL.length + 1) } });
    await refuse(SMALL + " ", { ...tooLarge, headers: { "content-length": "1" } });
    const headers = { "content-encoding": "gzip" };
    const bomb = await gzip(new Uint8Array(4 * 1024 * 1024).fill(0x20));
    await refuse(bomb, { status: 413, code: "too_large", headers: { ...headers, "content-length": "1" } });
    await refuse(await gzip(SMALL + " "), { ...tooLarge, headers });
    await using purser = await openTestPurser(LIMIT);
    assert.equal((await purser.api("POST", RESTORE, SMALL)).status, 200);
    assert.equal((await purser.api("POST", RESTORE, await gzip(SMALL), headers)).status, 200);
  },
  LIMIT,
);

Deno.test("an endless body is refused at the limit, and not read further", async () => {
  await using purser = await openTestPurser({ config: { maxSnapshotBytes: 10_000 } });
  const before = await dump(purser.core.store);
  for (const isZipped of [false, true]) {
    let pulled = 0;
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        pulled++;
        controller.enqueue(bytesOf(pulled === 1 ? "{" : " ".repeat(1_000)));
      },
      cancel: () => void (isCancelled = true),
    });
    const headers = { "content-type": "application/json", ...(isZipped && { "content-encoding": "gzip" }) };
    const body = isZipped ? endless.pipeThrough(new CompressionStream("gzip")) : endless;
    const response = await purser.app.request(RESTORE, { method: "POST", headers, body });
    assert.equal(response.status, 413);
    await response.body?.cancel();
    assert.ok(isZipped || pulled < 20, `${pulled} chunks were read`);
    assert.ok(isZipped || isCancelled, "the body was left open");
  }
  assert.deepEqual(await dump(purser.core.store), before);
});

Deno.test("a body that breaks off changes nothing", async () => {
  await using purser = await openTestPurser();
  const before = await dump(purser.core.store);
  for (const encoding of ["identity", "gzip"]) {
    const bytes = encoding === "gzip" ? await gzip(SMALL) : bytesOf(SMALL);
    let isSent = false;
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        if (isSent) controller.error(new TypeError("connection reset"));
        else controller.enqueue(bytes);
        isSent = true;
      },
    });
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    const response = await purser.app.request(RESTORE, { method: "POST", headers, body });
    assert.notEqual(response.status, 200);
    await response.body?.cancel();
  }
  assert.deepEqual(await dump(purser.core.store), before);
});

testRefusals("a body of another type or encoding is refused", async (refuse) => {
  const wrong = { status: 415, code: "unsupported_media_type" };
  for (const type of ["text/plain", "", "application/jsonp", "application/gzip", "multipart/form-data"]) {
    await refuse(SMALL, { ...wrong, headers: { "content-type": type } });
    await refuse("", { ...wrong, headers: { "content-type": type } });
  }
  for (const encoding of ["br", "deflate", "zstd", "gzip, gzip", "gzip, br", "x"]) {
    await refuse(SMALL, { ...wrong, headers: { "content-encoding": encoding } });
  }
  await using purser = await openTestPurser();
  for (
    const header of [
      ["content-type", "application/json; charset=utf-8"],
      ["content-type", "application/vnd.purser.snapshot+json"],
      ["content-encoding", "identity"],
    ]
  ) {
    const { status } = await purser.api("POST", RESTORE, SMALL, Object.fromEntries([header]));
    assert.equal(status, 200, String(header));
  }
  const zipped = await gzip(SMALL);
  for (const encoding of ["gzip", "GZIP"]) {
    const { status } = await purser.api("POST", RESTORE, zipped, { "content-encoding": encoding });
    assert.equal(status, 200);
  }
});

testRefusals("invalid, damaged or truncated gzip is refused", async (refuse) => {
  const headers = { "content-encoding": "gzip" };
  const zipped = await gzip(FULL_TEXT);
  const expected = { headers, path: "" };
  await refuse(FULL_TEXT, expected);
  await refuse("", expected);
  for (const end of [1, 5, 10, 11, 100, zipped.length - 8, zipped.length - 4, zipped.length - 1]) {
    await refuse(zipped.subarray(0, end), expected);
  }
  for (const at of [0, 1, 2, zipped.length - 8, zipped.length - 1]) {
    await refuse(zipped.map((byte, index) => index === at ? byte ^ 0xff : byte), { headers });
  }
  await refuse(await gzip(zipped), { headers });
  await refuse(await gzip(FULL_TEXT.slice(0, -10)), { headers });
  await refuse(zipped, { detail: /not UTF-8/ });
});

testRefusals(
  "invalid names, and a session of another agent, are refused",
  async (refuse) => {
    await refuse(snapshotOf({ agent_id: "snapshot" }), { path: "agent_id", detail: /path of the API/ });
    await refuse(snapshotOf({ agent: { model: "demo:echo", name: "other" } }), { path: "agent.name" });
    for (const id of ["", ".", "..", "../x", "a/b", "a%20b", "ses\n", " ses"]) {
      await refuse(snapshotOf({ session_id: id }), { path: "session_id" });
      await refuse(snapshotOf({ agent_id: id }), { path: "agent_id" });
    }
  },
);

Deno.test("a session that belongs to another agent here is refused as a conflict, and stays as it was", async () => {
  await using purser = await openTestPurser();
  await purser.run({ agentId: "owner" }, "Hello", { sessionId: "ses" });
  const before = await dump(purser.core.store);
  for (const query of ["", "?dry_run=true", "?dry_run=false"]) {
    const { body } = await assertProblem(purser, "POST", RESTORE + query, snapshotOf(), {
      status: 409,
      code: "conflict",
      detail: /Cannot restore session ses of agent agent: here it belongs to agent owner/,
    });
    assert.deepEqual(body.details, { session_id: "ses", agent_id: "owner" });
  }
  // A document that is invalid is refused as such first.
  await assertProblem(purser, "POST", RESTORE, snapshotOf({ tags: 5 }), { status: 400, code: "invalid" });
  assert.deepEqual(await dump(purser.core.store), before);
});

Deno.test("an unknown or ambiguous query parameter is refused before the body is read", async () => {
  await using purser = await openTestPurser();
  const before = await dump(purser.core.store);
  for (
    const query of [
      "dry_run=",
      "dry_run=1",
      "dry_run=TRUE",
      "dry_run",
      "dryrun=true",
      "dry-run=true",
      "dry_run=true&force=true",
      "x=1",
      "dry_run=false&dry_run=true",
      "dry_run=true&dry_run=false",
    ]
  ) {
    const expected = { status: 400, code: "invalid" };
    await assertProblem(purser, "POST", `${RESTORE}?${query}`, snapshotOf(), expected);
    assert.deepEqual(await dump(purser.core.store), before, query);
  }
});

Deno.test("a damaged document is refused or accepted, and never an internal error", async () => {
  await using purser = await openTestPurser();
  const source = JSON.stringify(FULL, null, 1);
  const at = fc.nat({ max: source.length });
  const damage = fc.array(
    fc.tuple(at, fc.nat({ max: 40 }), fc.oneof(at.map((from) => source.slice(from, from + 30)), fc.string())),
    { minLength: 1, maxLength: 3 },
  );
  for (const cuts of fc.sample(damage, { numRuns: 300, seed: 5 })) {
    const text = cuts.reduce(
      (all, [from, length, by]) => all.slice(0, from) + by + all.slice(from + length),
      source,
    );
    const { status } = await purser.api("POST", `${RESTORE}?dry_run=true`, text.toWellFormed());
    assert.ok(status === 200 || status === 400, `${status} for ${text}`);
  }
});
