import assert from "node:assert/strict";
import { MAX_SEARCHED_SESSIONS } from "../src/sessions/mod.ts";
import { EVENT } from "./harness/bodies.ts";
import { makeKey, openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The bounds of a search of sessions; what it finds is a case of the REST suite. */

const NEWEST = Date.parse("2026-10-31T12:00:00.000Z");

/** Reports a call in each of some sessions, the latest first. */
async function report(purser: TestPurser, sessions: number, more: (index: number) => object): Promise<void> {
  const calls = Array.from({ length: sessions }, (_, index) => ({
    ...EVENT,
    call_id: `call-${index}`,
    session_id: `ses-${index}`,
    at: new Date(NEWEST - index * 1_000).toISOString(),
    ...more(index),
  }));
  for (let from = 0; from < calls.length; from += 1_000) {
    assert.equal((await purser.api("POST", "/costs/events", calls.slice(from, from + 1_000))).status, 201);
  }
}

/** Returns the ids of each page. */
async function readPages(purser: TestPurser, path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const { body, headers } = await purser.api("GET", next);
    pages.push(body.map(({ session_id }: { session_id: string }) => session_id));
    next = /^<(.*)>; rel="next"$/.exec(headers.get("link") ?? "")?.[1];
  }
  return pages;
}

Deno.test("a search reads a bounded number of sessions, and continues at the next page, also after an empty one", async () => {
  await using purser = await openTestPurser();
  const old = MAX_SEARCHED_SESSIONS + 100;
  await report(purser, old + 1, (index) => ({ model: index === 3 || index === old ? "rare" : "common" }));
  assert.deepEqual(await readPages(purser, "/sessions?search=rare"), [["ses-3"], [`ses-${old}`]]);
  assert.deepEqual(await readPages(purser, "/sessions?search=none"), [[], []]);
  assert.deepEqual(await readPages(purser, "/sessions?status=failed"), [[], []]);
  const pages = await readPages(purser, "/sessions?search=common&limit=1000");
  assert.deepEqual(pages.map(({ length }) => length), [1_000, 1_000, old - 2_001]);
  assert.equal(new Set(pages.flat()).size, old - 1);
});

Deno.test("a key of one agent finds sessions by its own calls, not by those of other agents in them", async () => {
  await using purser = await openTestPurser();
  await purser.api("PUT", "/agents/alpha", { model: "demo:echo", tags: { team: "own" } });
  await purser.api("POST", "/agents/alpha/runs", { input: "Hi", session_id: "shared" });
  const other = {
    ...EVENT,
    agent_id: "bravo",
    session_id: "shared",
    model: "secret",
    tags: { team: "other" },
  };
  assert.equal((await purser.api("POST", "/costs/events", [other])).status, 201);
  const { key } = await makeKey(purser, ["read"], { agent_id: "alpha" });
  const client = openHttpClient(purser);
  for (
    const [text, found] of [["team:own", 1], ["echo", 1], ["team:other", 0], ["secret", 0], ["bravo", 0]]
  ) {
    const { body } = await client.send("GET", `/sessions?search=${text}`, { key });
    assert.equal(body.length, found, String(text));
  }
});
