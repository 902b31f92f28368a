import assert from "node:assert/strict";
import { snapshotOf } from "../../harness/snapshots.ts";
import type { RestApi, RestCase } from "../rest_case.ts";

const RESTORE = "/agents/snapshot/restore";

async function runOnce(api: RestApi): Promise<string> {
  await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo", tools: ["calculator"] });
  const session = `${api.prefix}:s`;
  await api.expect(200, "POST", `/agents/${api.prefix}/runs`, {
    input: "What is 2 + 2?",
    session_id: session,
  });
  return session;
}

/** A snapshot with so many characters of messages, as a stream: it is too large for a test to hold. */
function largeSnapshot(api: RestApi, characters: number): ReadableStream<Uint8Array> {
  const text = "x".repeat(256 * 1024);
  const count = Math.ceil(characters / text.length);
  const { state, ...head } = snapshotOf({ agent_id: api.prefix, session_id: `${api.prefix}:s` });
  const pieces = function* () {
    yield `${JSON.stringify(head).slice(0, -1)},"state":{"status":"${state.status}","messages":[`;
    for (let i = 0; i < count; i++) {
      yield (i === 0 ? "" : ",") +
        JSON.stringify({ id: `m${i}`, created_at: "2026-11-20T08:00:00.000Z", role: "user", content: text });
    }
    yield "]}}";
  };
  return ReadableStream.from(pieces()).pipeThrough(new TextEncoderStream());
}

const LARGE = 9 * 1024 * 1024;

export const snapshotCases: RestCase[] = [
  {
    name: "a restore that is sent again under its Idempotency-Key does not undo what came after it",
    async run(api) {
      const session = await runOnce(api);
      const copy = await api.expect(200, "GET", `/agents/${session}/snapshot`);
      const send = (document: object) =>
        api.send("POST", RESTORE, document, { "idempotency-key": `restore of ${api.prefix}` });
      const first = await send(copy);
      assert.equal(first.status, 200);
      await api.expect(200, "POST", `/agents/${api.prefix}/runs`, { input: "More", session_id: session });
      const again = await send(copy);
      assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [200, "true"]);
      assert.deepEqual(again.body, first.body);
      const { message_count } = await api.expect(200, "GET", `/sessions/${session}`);
      assert.equal(message_count, first.body.messages_restored + 2);
      const { integrity: _, ...other } = copy;
      assert.equal((await send(other)).body.code, "idempotency_mismatch");
    },
  },
  {
    name: "a session is exported as a snapshot and imported as another session, with its history",
    async run(api) {
      const session = await runOnce(api);
      const response = await api.fetch("GET", `/agents/${session}/snapshot?with_events=true&tag=why=test`);
      assert.equal(response.status, 200);
      const name = `${api.prefix}_${session}.json`.replaceAll(":", "-");
      assert.equal(response.headers.get("content-disposition"), `attachment; filename="${name}"`);
      assert.equal(response.headers.get("purser-message-count"), "4");
      const { integrity: _, ...snapshot } = await response.json();
      assert.deepEqual([snapshot.source_environment, snapshot.tags], ["rest", { why: "test" }]);
      const copy = { ...snapshot, session_id: `${api.prefix}:copy` };
      const preview = await api.expect(200, "POST", `${RESTORE}?dry_run=true`, copy);
      assert.deepEqual([preview.messages_restored, preview.dry_run], [4, true]);
      await api.refused(404, "not_found", "GET", `/sessions/${copy.session_id}`);
      const restored = await api.expect(200, "POST", RESTORE, copy);
      assert.deepEqual([restored.session_id, restored.messages_restored], [copy.session_id, 4]);
      const back = await api.expect(200, "GET", `/agents/${copy.session_id}/snapshot`);
      assert.deepEqual(back.state.messages, snapshot.state.messages);
      const events = `/sessions/${copy.session_id}/events/imported`;
      const history = await api.expect(200, "GET", events);
      assert.equal(history.length, snapshot.events.length);
      assert.deepEqual(await api.expect(200, "GET", `${events}?after=2&limit=3`), history.slice(2, 5));
      await api.refused(404, "not_found", "GET", "/sessions/ses_nowhere/events/imported");
      // An imported session can be continued.
      const run = { input: "Continue", session_id: copy.session_id };
      assert.equal((await api.expect(200, "POST", `/agents/${api.prefix}/runs`, run)).status, "completed");
    },
  },
  {
    name: "a snapshot is compressed for a client that accepts gzip, and revalidated by its ETag",
    async run(api) {
      const path = `/agents/${await runOnce(api)}/snapshot`;
      const plain = await api.fetch("GET", path, { headers: { "accept-encoding": "identity" } });
      const text = await plain.text();
      const packed = await api.fetch("GET", path, { headers: { "accept-encoding": "gzip" } });
      assert.equal(packed.headers.get("vary"), "accept-encoding");
      // Decompressed by the client: a body compressed twice would not be JSON.
      assert.deepEqual((await packed.json()).state, JSON.parse(text).state);
      const etag = plain.headers.get("etag")!;
      const { status, headers } = await api.send("GET", path, undefined, { "if-none-match": etag });
      assert.deepEqual([status, headers.get("etag")], [304, etag]);
      const head = await api.fetch("HEAD", path);
      assert.deepEqual([head.status, await head.text()], [200, ""]);
      await api.refused(404, "not_found", "GET", "/agents/ses_nowhere/snapshot");
      await api.refused(400, "invalid", "GET", `${path}?tag=nonsense`);
    },
  },
  {
    name: "a snapshot is restored from a compressed body too",
    async run(api) {
      const snapshot = snapshotOf({ agent_id: api.prefix, session_id: `${api.prefix}:s` });
      const packed = new Blob([JSON.stringify(snapshot)]).stream().pipeThrough(new CompressionStream("gzip"));
      const body = new Uint8Array(await new Response(packed).arrayBuffer());
      const result = await api.expect(200, "POST", RESTORE, body, { "content-encoding": "gzip" });
      assert.equal(result.messages_restored, 2);
      const { tags, restored_from } = await api.expect(200, "GET", `/sessions/${api.prefix}:s`);
      assert.deepEqual([tags, restored_from.source_environment], [{ ticket: "4711" }, "production"]);
    },
  },
  {
    name: "an invalid snapshot is refused, and changes nothing",
    async run(api) {
      const snapshot = snapshotOf({ agent_id: api.prefix, session_id: `${api.prefix}:s` });
      const newer = await api.refused(400, "invalid", "POST", RESTORE, { ...snapshot, schema_version: 99 });
      assert.match(newer.detail, /99/);
      const wrong = { ...snapshot, integrity: { algorithm: "sha256", digest: "0".repeat(64) } };
      await api.refused(400, "invalid", "POST", RESTORE, wrong);
      await api.refused(400, "invalid", "POST", RESTORE, JSON.stringify(snapshot).slice(0, -20));
      await api.refused(400, "invalid", "POST", `${RESTORE}?dry_run=maybe`, snapshot);
      const text = await api.send("POST", RESTORE, "text", { "content-type": "text/plain" });
      assert.deepEqual([text.status, text.body.code], [415, "unsupported_media_type"]);
      await api.refused(404, "not_found", "GET", `/sessions/${api.prefix}:s`);
      await api.expect(200, "POST", RESTORE, snapshot);
      await api.refused(409, "conflict", "POST", RESTORE, { ...snapshot, agent_id: `${api.prefix}:other` });
    },
  },
  {
    name: "the schema of snapshots is published",
    async run(api) {
      const schema = await api.expect(200, "GET", "/schemas/snapshot/v1.json");
      assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
    },
  },
  {
    name: "a snapshot that does not fit into memory is restored",
    needs: "large_snapshots",
    async run(api) {
      const result = await api.expect(200, "POST", RESTORE, largeSnapshot(api, LARGE));
      assert.equal(result.messages_restored, 36);
    },
  },
  {
    name: "a snapshot that would not fit into memory is refused as unsupported, and changes nothing",
    without: "large_snapshots",
    async run(api) {
      const problem = await api.refused(501, "unsupported", "POST", RESTORE, largeSnapshot(api, LARGE));
      assert.match(problem.detail, /at the edge/);
      await api.refused(404, "not_found", "GET", `/sessions/${api.prefix}:s`);
    },
  },
];
