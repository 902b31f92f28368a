import assert from "node:assert/strict";
import { changeKey, createKey, createKeyCache, getKey, readNames } from "../src/keys/mod.ts";
import { scopeOf } from "../src/ledger/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { dialectKinds } from "./harness/databases.ts";
import { createBooking } from "./harness/booking.ts";
import { openHttpClient } from "./harness/http_client.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

/** The tags of API keys, which their calls get whatever their holders say. */

const TAGS = { user: "anna", team: "search" };
const FORGED = { user: "eve", note: "x" };
const BOTH = { note: "x", team: "search", user: "anna" };
const AT = "2026-11-01T11:30:00.000Z";

async function open(tags: Record<string, string> = TAGS, purser?: TestPurser) {
  const opened = purser ?? await openTestPurser();
  const made = await opened.api("POST", "/keys", { name: "anna", scopes: ["call", "run", "read"], tags });
  assert.equal(made.status, 201);
  const { key, key_id } = made.body;
  return {
    keyId: key_id,
    client: openHttpClient(opened),
    key,
    set: (changed: Record<string, string>) => opened.api("PATCH", `/keys/${key_id}`, { tags: changed }),
    /** The tags of the calls in the ledger, by their time. */
    async tags() {
      const { rows } = await opened.core.store.read({
        sql: `SELECT coalesce(t.tags, c.tags) FROM calls c LEFT JOIN call_tags t ON t.call_id = c.call_id
          WHERE adjusts IS NULL ORDER BY position`,
      });
      return rows.map(([tags]) => JSON.parse(tags as string ?? "{}"));
    },
  };
}

const event = (call_id: string, tags?: object) => ({
  call_id,
  at: AT,
  agent_id: "bot",
  provider: "demo",
  model: "echo",
  input_tokens: 100,
  output_tokens: 10,
  ...(tags && { tags }),
});

const sightings = (output_tokens: number, tags?: object) => ({
  origin: { source: "log", name: "claude-code", agent_id: "claude-code" },
  sightings: [{
    ref: "msg_1",
    response_id: "msg_01ABcdEFgh",
    model: "claude-sonnet-5",
    at: AT,
    input_tokens: 100,
    output_tokens,
    folder: "/home/anna/shop",
    ...(tags && { tags }),
  }],
});

Deno.test("a call through the gateway has the tags of its key, whatever its x-purser-* headers say", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Hello" }));
  await using purser = await openTestPurser({ fake });
  const { client, key, tags } = await open(TAGS, purser);
  const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] };
  for (
    const headers of [
      {},
      { "x-purser-tags": "user=eve, note=x" },
      { "x-purser-tags": JSON.stringify(FORGED), "x-purser-user": "eve", "x-purser-key": "other" },
    ]
  ) {
    const { status } = await client.raw("POST", "/v1/chat/completions", {
      key,
      body,
      headers: headers as Record<string, string>,
    });
    assert.equal(status, 200);
  }
  assert.deepEqual(await tags(), [TAGS, BOTH, BOTH].map((each) => ({ ...each })));
  const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`tag${index}`, "x"]));
  const refused = await client.raw("POST", "/v1/chat/completions", {
    key,
    body,
    headers: { "x-purser-tags": JSON.stringify(many) },
  });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /must have at most 10 tags/);
});

Deno.test("a run over REST has the tags of its agent, its own, and those of the key over both", async () => {
  await using purser = await openTestPurser();
  const { client, key, tags } = await open(TAGS, purser);
  await purser.api("PUT", "/agents/echo", { model: "demo:echo", tags: { team: "ops", feature: "chat" } });
  const run = await client.send("POST", "/agents/echo/runs", { key, body: { input: "Hi", tags: FORGED } });
  assert.equal(run.status, 200);
  const expected = { ...BOTH, feature: "chat" };
  assert.deepEqual(await tags(), [expected]);
  assert.deepEqual((await client.send("GET", `/runs/${run.body.run_id}`, { key })).body.tags, expected);
});

Deno.test("the tags of a key fit beside ten of the caller, and a call is told with all of them", async () => {
  const ten = (name: string) =>
    Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`${name}${n}`, "x"]));
  await using purser = await openTestPurser();
  const { client, key, tags } = await open(ten("key"), purser);
  const sent = event("one", ten("own"));
  assert.equal((await client.send("POST", "/costs/events", { key, body: [sent] })).status, 201);
  const all = { ...ten("key"), ...ten("own") };
  assert.deepEqual(await tags(), [all]);
  const told = await client.send("GET", "/costs/calls/one", { key });
  assert.deepEqual(told.body.call.tags, all);
  const again = [{ ...sent, tags: all }];
  assert.equal((await client.send("POST", "/costs/events", { key, body: again })).body.duplicates, 1);
  const eleven = await client.send("POST", "/costs/events", {
    key,
    body: [event("two", { ...ten("own"), eleventh: "x" })],
  });
  assert.equal(eleven.status, 400);
  assert.match(eleven.body.detail, /\[0\]\.tags: it has more than 10 tags beside those of the API key/);
  assert.equal((await tags()).length, 1);
});

Deno.test("a report keeps the key's tags, and repeating it after they have changed is a duplicate", async () => {
  await using purser = await openTestPurser();
  const { client, key, tags, set } = await open(TAGS, purser);
  const report = (call_id: string) =>
    client.send("POST", "/costs/events", { key, body: [event(call_id, FORGED)] });
  assert.equal((await report("one")).body.booked, 1);
  await set({ user: "anna", team: "billing" });
  assert.equal((await report("one")).body.duplicates, 1);
  assert.equal((await report("two")).body.booked, 1);
  assert.deepEqual(await tags(), [BOTH, { ...BOTH, team: "billing" }]);
});

Deno.test("an imported call has the key's tags of when it was first seen, over those of its log", async () => {
  await using purser = await openTestPurser();
  const { client, key, tags, set } = await open({ ...TAGS, project: "store" }, purser);
  const sight = async (output: number) => {
    const answer = await client.send("POST", "/sightings", { key, body: sightings(output, FORGED) });
    assert.equal(answer.status, 200);
    const { booked, duplicates, amended, enriched } = answer.body;
    return { booked, duplicates, amended, enriched };
  };
  const first = { ...BOTH, project: "store" };
  assert.equal((await sight(10)).booked, 1);
  assert.deepEqual(await tags(), [first]);
  const changes: Record<string, string>[] = [{ user: "ann" }, {}, { user: "zoe", customer: "acme" }];
  for (const changed of changes) {
    await set(changed);
    assert.deepEqual(await sight(10), { booked: 0, duplicates: 1, amended: 0, enriched: 0 });
    assert.deepEqual(await tags(), [first], "a later import changes no call");
  }
  assert.equal((await sight(20)).amended, 1);
  assert.deepEqual(await tags(), [first]);
});

Deno.test("a span has the tags of the key that it is exported under", async () => {
  await using purser = await openTestPurser();
  const { client, key, tags } = await open(TAGS, purser);
  const attribute = (name: string, value: string | number) => ({
    key: name,
    value: typeof value === "string" ? { stringValue: value } : { intValue: String(value) },
  });
  const nanos = `${Date.parse(AT)}000000`;
  const span = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    name: "chat gpt-4o-mini",
    kind: 3,
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes: [
      attribute("gen_ai.operation.name", "chat"),
      attribute("gen_ai.provider.name", "openai"),
      attribute("gen_ai.request.model", "gpt-4o-mini"),
      attribute("gen_ai.usage.input_tokens", 12),
      attribute("gen_ai.usage.output_tokens", 3),
    ],
  };
  const body = {
    resourceSpans: [{
      resource: { attributes: [attribute("service.name", "shop")] },
      scopeSpans: [{ scope: { name: "shop" }, spans: [span] }],
    }],
  };
  const answer = await client.raw("POST", "/v1/traces", { key, body });
  assert.equal(answer.status, 200, await answer.text());
  const [got] = await tags();
  assert.deepEqual({ user: got.user, team: got.team }, TAGS);
});

Deno.test("tags that can't be any are refused by name, and leave the key as it was", async () => {
  await using purser = await openTestPurser();
  const { keyId, set } = await open(TAGS, purser);
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`tag${n}`, "x"]));
  const bad: [Record<string, string>, RegExp][] = [
    [{ "user:name": "anna" }, /tags\.user:name.*a tag's key must be/],
    [{ user: "an\u0000na" }, /tags\.user.*none of them a control character/],
    [{ user: "" }, /tags\.user.*1 to 100 characters/],
    [many, /tags.*must have at most 10 tags/],
  ];
  for (const [tags, says] of bad) {
    for (
      const answer of [
        await set(tags),
        await purser.api("POST", "/keys", { name: "other", scopes: ["call"], tags }),
      ]
    ) {
      assert.equal(answer.status, 400);
      assert.equal(answer.body.code, "invalid");
      assert.match(JSON.stringify(answer.body), says);
    }
  }
  const keys = (await purser.api("GET", "/keys")).body;
  assert.deepEqual(keys.map(({ key_id, tags }: { key_id: string; tags: object }) => [key_id, tags]), [[
    keyId,
    TAGS,
  ]]);
});

Deno.test("only an administrator changes the tags of a key, and its ETag tells of the change", async () => {
  await using purser = await openTestPurser();
  const { client, key, keyId, set } = await open(TAGS, purser);
  const own = await client.send("PATCH", `/keys/${keyId}`, { key, body: { tags: {} } });
  assert.equal(own.status, 403);
  const etag = (await purser.api("GET", `/keys/${keyId}`)).headers.get("etag")!;
  assert.deepEqual((await set({ user: "ann" })).body.tags, { user: "ann" });
  const outdated = await purser.api("PATCH", `/keys/${keyId}`, { tags: {} }, { "if-match": etag });
  assert.equal(outdated.status, 412);
  assert.deepEqual((await set({})).body.tags, {});
});

for (const kind of dialectKinds()) {
  Deno.test({
    name: `the tags of a key are kept, changed and read with its name (${kind.name})`,
    ignore: kind.ignore,
    async fn() {
      await using database = await kind.create();
      const ctx = await createBooking(await database.open());
      const keys = { ...ctx, keyCache: createKeyCache(ctx.clock, { isShared: false }) };
      const input = { name: "laptop", scopes: ["call"] as const, agentId: null, expiresAt: null };
      const { key_id } = await createKey(keys, { ...input, tags: TAGS });
      const bare = await createKey(keys, { ...input, name: "bare" });
      assert.deepEqual([(await getKey(keys, key_id)).tags, bare.tags], [TAGS, {}]);
      const scopes = [key_id, bare.key_id].map((id) => scopeOf("key", id));
      const names = await readNames(ctx, scopes);
      assert.deepEqual([...names].map(([scope]) => names.users!.get(scope)).sort(), ["anna", undefined]);
      await changeKey(keys, key_id, { tags: {} });
      assert.deepEqual((await getKey(keys, key_id)).tags, {});
      assert.equal((await readNames(ctx, scopes)).users!.size, 0);
    },
  });
}
