import assert from "node:assert/strict";
import { DAY_MS, toIso } from "../src/kernel/clock.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The doctor's check of API keys. */

async function check(purser: TestPurser) {
  const { body } = await purser.api("GET", "/doctor");
  const { name: _name, ...found } = body.find(({ name }: { name: string }) => name === "API keys");
  return found;
}

const inDays = (purser: TestPurser, days: number) => toIso(purser.clock.now() + days * DAY_MS);
const renew = (name: string) =>
  `Give each a new secret and a later end: purser keys rotate ${name} --expires 90d --grace 24h`;

Deno.test("keys that stay valid for a while are ok", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["admin"]);
  await makeKey(purser, ["read"], { expires_at: inDays(purser, 7.5) });
  assert.deepEqual(await check(purser), { status: "ok", detail: "2 active", advice: null });
});

Deno.test("a missing admin key is reported, and is ok", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["read", "run"]);
  assert.deepEqual(await check(purser), {
    status: "ok",
    detail: "1 active, none of them admin",
    advice: null,
  });
});

Deno.test("when no key is active, a server refuses every request, and that is a warning", async () => {
  await using purser = await openTestPurser();
  const { keyId } = await makeKey(purser, ["admin"]);
  await makeKey(purser, ["read"], { expires_at: inDays(purser, 1) });
  await purser.api("DELETE", `/keys/${keyId}`);
  purser.clock.advance(DAY_MS);
  assert.deepEqual(await check(purser), {
    status: "warning",
    detail: "none of 2 is active, so a server refuses every request",
    advice: "On the database itself: purser keys add NAME --scope admin",
  });
});

Deno.test("keys that expire within a week are a warning, the earliest first", async () => {
  await using purser = await openTestPurser();
  await makeKey(purser, ["admin"]);
  const b = await makeKey(purser, ["read"], { name: "b", expires_at: inDays(purser, 7) });
  const a = await makeKey(purser, ["read"], { name: "a", expires_at: inDays(purser, 2) });
  assert.deepEqual(await check(purser), {
    status: "warning",
    detail: `3 active; a (${a.keyId}) expires at 2026-11-03T12:00:00.000Z; b (${b.keyId}) expires at ` +
      "2026-11-08T12:00:00.000Z",
    advice: renew("a"),
  });
  await purser.api("DELETE", `/keys/${a.keyId}`);
  await purser.api("DELETE", `/keys/${b.keyId}`);
  assert.equal((await check(purser)).status, "ok");
});

Deno.test("a key that was in use when it expired is a warning for a week, unless it was replaced", async () => {
  await using purser = await openTestPurser();
  const client = openHttpClient(purser);
  await makeKey(purser, ["admin"]);
  const { key, keyId } = await makeKey(purser, ["read"], { name: "ci", expires_at: inDays(purser, 2) });
  const unused = await makeKey(purser, ["read"], { name: "unused", expires_at: inDays(purser, 2) });
  await client.send("GET", "/agents", { key: unused.key });
  purser.clock.advance(1.5 * DAY_MS);
  await client.send("GET", "/agents", { key });
  await Promise.all(purser.core.keyCache.writing);
  purser.clock.advance(DAY_MS);
  assert.deepEqual(await check(purser), {
    status: "warning",
    detail: `1 active; ci (${keyId}) was in use when it expired at 2026-11-03T12:00:00.000Z`,
    advice: renew("ci"),
  });
  purser.clock.advance(6.5 * DAY_MS);
  assert.equal((await check(purser)).status, "ok");

  purser.clock.advance(-2 * DAY_MS);
  assert.equal((await check(purser)).status, "warning");
  await makeKey(purser, ["read"], { name: "ci" });
  assert.equal((await check(purser)).status, "ok");
});
