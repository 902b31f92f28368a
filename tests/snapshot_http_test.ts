import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { snapshotOf, textOf } from "./harness/snapshots.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";

const SNAPSHOT = "/agents/s1/snapshot";
const RESTORE = "/agents/snapshot/restore";

async function openWithSession(): Promise<TestPurser> {
  const purser = await openTestPurser();
  await purser.api("PUT", "/agents/a:b", { model: "demo:echo" });
  await purser.api("POST", "/agents/a:b/runs", { input: "Hello", session_id: "s1" });
  return purser;
}

Deno.test("a snapshot is a file to save: JSON, with a name that is valid on every file system", async () => {
  await using purser = await openWithSession();
  const response = await purser.fetch("GET", SNAPSHOT);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(response.headers.get("content-disposition"), 'attachment; filename="a-b_s1.json"');
  assert.equal(response.headers.get("purser-message-count"), "2");
  assert.equal((await response.json()).state.messages.length, 2);
});

Deno.test("HEAD answers with a snapshot's headers and no body", async () => {
  await using purser = await openWithSession();
  const response = await purser.app.request(SNAPSHOT, { method: "HEAD" });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("etag")!, /^W\/"/);
  assert.equal(await response.text(), "");
  assert.equal((await purser.app.request("/agents/none/snapshot", { method: "HEAD" })).status, 404);
});

Deno.test("a client that already has the snapshot gets a 304 by its ETag, until the session changes", async () => {
  await using purser = await openWithSession();
  const etag = (await purser.fetch("GET", SNAPSHOT)).headers.get("etag")!;
  for (const header of [etag, `"other", ${etag}`, etag.slice(2), "*"]) {
    const { status, headers } = await purser.api("GET", SNAPSHOT, undefined, { "if-none-match": header });
    assert.deepEqual([status, headers.get("etag")], [304, etag], header);
  }
  const differs = await purser.api("GET", `${SNAPSHOT}?with_events=true`, undefined, {
    "if-none-match": etag,
  });
  assert.equal(differs.status, 200);
  await purser.api("POST", "/agents/a:b/runs", { input: "More", session_id: "s1" });
  assert.equal((await purser.api("GET", SNAPSHOT, undefined, { "if-none-match": etag })).status, 200);
});

Deno.test("a snapshot is compressed only for clients that accept gzip", async () => {
  await using purser = await openWithSession();
  const plain = await (await purser.fetch("GET", SNAPSHOT)).text();
  for (const header of ["gzip", "br, gzip;q=0.5", "deflate,gzip ; q=1.0"]) {
    const response = await purser.app.request(SNAPSHOT, { headers: { "accept-encoding": header } });
    assert.deepEqual(
      [response.headers.get("content-encoding"), response.headers.get("vary")],
      ["gzip", "accept-encoding"],
      header,
    );
    assert.equal(await textOf(response.body!.pipeThrough(new DecompressionStream("gzip"))), plain);
  }
  for (const header of ["", "br", "gzip;q=0", "gzip; q=0.000", "xgzip"]) {
    const response = await purser.app.request(SNAPSHOT, { headers: { "accept-encoding": header } });
    assert.equal(response.headers.get("content-encoding"), null, header);
    assert.equal(await response.text(), plain);
  }
});

Deno.test("tags of the query are added to the session's own, which stay as they are", async () => {
  await using purser = await openTestPurser();
  await purser.api("POST", RESTORE, snapshotOf({ session_id: "s1", tags: { kept: "1", replaced: "old" } }));
  const query = "tag=replaced=new&tag=why=a%3Db%20%C3%BC&tag=empty=";
  const { tags } = await (await purser.fetch("GET", `${SNAPSHOT}?${query}`)).json();
  assert.deepEqual(tags, { kept: "1", replaced: "new", why: "a=b ü", empty: "" });
  assert.deepEqual((await purser.api("GET", "/sessions/s1")).body.tags, { kept: "1", replaced: "old" });
});

Deno.test("an invalid query is refused, naming the parameter", async () => {
  await using purser = await openWithSession();
  for (const query of ["tag=novalue", "tag==x", "tag=__proto__=1", "with_events=yes", "tags=a=b", "tag="]) {
    const { status, body } = await purser.api("GET", `${SNAPSHOT}?${query}`);
    assert.deepEqual([status, body.code], [400, "invalid"], query);
    assert.ok(body.details.issues.length > 0, query);
  }
});

Deno.test("a compressed snapshot is restored unchanged", async () => {
  await using purser = await openWithSession();
  const text = await (await purser.fetch("GET", SNAPSHOT)).text();
  const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  await using other = await openTestPurser();
  const { status, body } = await other.api("POST", RESTORE, await new Response(zipped).bytes(), {
    "content-encoding": "gzip",
  });
  assert.deepEqual([status, body.messages_restored], [200, 2]);
  const again = await (await other.fetch("GET", SNAPSHOT)).json();
  assert.deepEqual(again.state.messages, JSON.parse(text).state.messages);
});

Deno.test("a client that disconnects in the middle of a snapshot leaves nothing in use", async () => {
  await using purser = await openTestPurser();
  const messages = Array.from(
    { length: 5_000 },
    (_, index) => ({ role: "user", content: `message ${index}` }),
  );
  await purser.api("POST", RESTORE, snapshotOf({ session_id: "s1" }, { messages }));
  const reader = (await purser.app.request(SNAPSHOT)).body!.getReader();
  for (let i = 0; i < 6; i++) await reader.read();
  const { generation } = await generationOf(purser, "s1");
  assert.equal(purser.core.generationsInUse.has(`${generation}/s1`), true);
  await reader.cancel();
  assert.equal(purser.core.generationsInUse.has(`${generation}/s1`), false);
});

Deno.test("a running export completes while the session is replaced, and then the old rows are swept", async () => {
  await using purser = await openTestPurser();
  const messages = Array.from(
    { length: 3_000 },
    (_, index) => ({ role: "user", content: `message ${index}` }),
  );
  await purser.api("POST", RESTORE, snapshotOf({ session_id: "s1" }, { messages }));
  const body = (await purser.app.request(SNAPSHOT)).body!;
  const { body: result } = await purser.api("POST", RESTORE, snapshotOf({ session_id: "s1" }));
  assert.equal(result.messages_before, 3_000);
  assert.equal(JSON.parse(await textOf(body)).state.messages.length, 3_000);
  // The rows that were read until now are swept with the next restore.
  await purser.api("POST", RESTORE, snapshotOf({ session_id: "s1" }));
  const { rows } = await purser.core.store.read({ sql: "SELECT count(*) FROM messages" });
  assert.deepEqual(rows, [[2n]]);
});

Deno.test("a run in progress is cancelled at once when its session is restored", async () => {
  const asked = Promise.withResolvers<void>();
  await using fake = await startFakeProvider(() => {
    asked.resolve();
    return { hang: true };
  });
  await using purser = await openTestPurser({ fake });
  await purser.api("PUT", "/agents/agent", { model: "openai.chat:gpt-4o-mini" });
  const running = purser.api("POST", "/agents/agent/runs", { input: "Hi", session_id: "ses" });
  await asked.promise;
  const [runId] = purser.core.liveRuns.keys();
  const preview = await purser.api("POST", `${RESTORE}?dry_run=true`, snapshotOf());
  assert.deepEqual([preview.body.dry_run, preview.body.fenced_run_id], [true, runId]);
  const { body } = await purser.api("POST", RESTORE, snapshotOf());
  assert.equal(body.fenced_run_id, runId);
  const { status, body: result } = await running;
  assert.deepEqual([status, result.status, result.output], [200, "cancelled", null]);
  assert.ok(result.token_usage.cost_usd > 0, "the prompt that the provider had read is booked");
  const last = (await purser.events("ses")).at(-1)!;
  assert.equal(last.type, "run.cancelled");
  assert.equal(last.payload.reason, "its session was restored from a snapshot");
  assert.deepEqual((await purser.messages("ses")).map(({ content }) => content), ["hello", "hi"]);
  const { body: session } = await purser.api("GET", "/sessions/ses");
  assert.deepEqual([session.status, session.active_run_id], ["completed", null]);
  assert.equal(session.event_log_count, (await purser.events("ses")).length);

  // The session continues from the restored state.
  fake.enqueue(answerTo({ api: "openai-chat", model: "gpt-4o-mini" }, { text: "Back" }));
  const again = await purser.api("POST", "/agents/agent/runs", { input: "Again", session_id: "ses" });
  assert.equal(again.body.output, "Back");
  assert.deepEqual(fake.requests.at(-1)!.body.messages.map(({ role }: { role: string }) => role), [
    "user",
    "assistant",
    "user",
  ]);
});

Deno.test("a run whose last response arrives while its session is restored has not completed", async () => {
  await using purser = await openTestPurser({
    models: {
      "mine:model": {
        specificationVersion: "v4",
        provider: "mine",
        modelId: "model",
        supportedUrls: {},
        async doGenerate() {
          // Restored while the provider answers; this process is notified, but the response has already arrived.
          const taken = [...purser.core.liveRuns.values()];
          for (const run of taken) run.cancel = () => {};
          await purser.api("POST", RESTORE, snapshotOf());
          return {
            content: [{ type: "text", text: "Too late" }],
            finishReason: { unified: "stop", raw: "stop" },
            usage: {
              inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
              outputTokens: { total: 2, text: 2, reasoning: 0 },
            },
            warnings: [],
          };
        },
        doStream: () => Promise.reject(new Error("not here")),
      },
    },
  });
  const result = await purser.run({ agentId: "agent", model: "mine:model" }, "Hi", { sessionId: "ses" });
  assert.deepEqual([result.status, result.output, result.token_usage.model_calls], ["cancelled", null, 1]);
  const { body: run } = await purser.api("GET", `/runs/${result.run_id}`);
  assert.deepEqual([run.status, run.output], ["cancelled", null]);
  const last = (await purser.events("ses")).at(-1)!;
  assert.deepEqual([last.type, last.run_id], ["run.cancelled", result.run_id]);
  assert.match(String(last.payload.reason), /its session was taken from it/);
  assert.equal(purser.published.at(-1)!.type, "run.cancelled");
  assert.equal(purser.published.at(-1)!.seq, last.seq);
  assert.deepEqual((await purser.messages("ses")).map(({ content }) => content), ["hello", "hi"]);
});

Deno.test("a restored session shows its origin, and its history in pages", async () => {
  await using purser = await openWithSession();
  const text = await (await purser.fetch("GET", `${SNAPSHOT}?with_events=true`)).text();
  await using other = await openTestPurser({ config: { environment: "laptop" } });
  await other.api("POST", RESTORE, text);
  const { body: session } = await other.api("GET", "/sessions/s1");
  assert.equal(session.restored_from.source_environment, "test");
  assert.equal(session.restored_from.token_usage.model_calls, 1);
  assert.equal(session.token_usage.model_calls, 0);
  assert.deepEqual((await other.api("GET", "/costs")).body, []);
  const { body: page } = await other.api("GET", "/sessions/s1/events/imported?after=1&limit=2");
  assert.deepEqual(
    page.map((event: { position: number; seq: number; imported_from: string }) => [
      event.position,
      event.seq,
      event.imported_from,
    ]),
    [[2, 2, "test"], [3, 3, "test"]],
  );
  assert.equal((await other.api("GET", "/sessions/none/events/imported")).status, 404);
  assert.equal((await other.api("GET", "/sessions/s1/events/imported?limit=0")).status, 400);
});

async function generationOf({ core }: TestPurser, sessionId: string) {
  const { rows } = await core.store.read({
    sql: "SELECT generation FROM sessions WHERE session_id = ?",
    args: [sessionId],
  });
  return { generation: Number(rows[0]![0]) };
}
