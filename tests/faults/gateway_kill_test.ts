import assert from "node:assert/strict";
import { openCore } from "../../src/service/mod.ts";
import { answerTo } from "../harness/answers.ts";
import { newPlace, type Place, start, untilItAnswers } from "../harness/cli_process.ts";
import { createShared, sharedInTime } from "../harness/database_servers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";

/** The kills on each kind of database; the gate has time for few. */
const KILLS = Number(Deno.env.get("PURSER_GATEWAY_KILLS") ?? 2);
const CLIENTS = 8;
/** The answers that clients see before a kill, at least. */
const ANSWERS = 12;

/** A gateway that can be killed at any moment. */
async function startGateway(place: Place): Promise<{ url: string; kill(): Promise<void> }> {
  const child = start(place, ["serve", "--port", "0", "--log-level", "error"]);
  const { url, drained } = await untilItAnswers(child);
  return {
    url,
    async kill() {
      child.kill("SIGKILL");
      await Promise.all([drained, child.stdout.cancel(), child.status]);
    },
  };
}

/** Sends calls until the gateway is gone, and keeps the id of each whose answer was seen to its end. */
async function callUntilGone(url: string, turn: number, seen: (callId: string) => void): Promise<void> {
  for (let number = turn;; number++) {
    const isStreamed = number % 2 === 0;
    const body = { model: "gpt-4o-mini", stream: isStreamed, messages: [{ role: "user", content: "Hi" }] };
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      if (isStreamed ? text.endsWith("data: [DONE]\n\n") : text.endsWith("}")) {
        seen(response.headers.get("x-purser-call-id")!);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return; // killed
    }
  }
}

async function playKills(db: string, place: Place): Promise<void> {
  let answers = 0;
  await using fake = await startFakeProvider((request) => {
    const { answer } = answerTo(request, { text: "Hello" });
    const id = `bill_${++answers}`;
    const frames = answer.frames.map((frame) => frame.replaceAll(/"id":"[^"]+"/g, `"id":"${id}"`));
    return { answer: { body: { ...answer.body as object, id }, frames } };
  });
  Object.assign(place.env, { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: fake.baseUrls.openai });
  const seen: string[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const gateway = await startGateway(place);
    const { promise: isEnough, resolve } = Promise.withResolvers<void>();
    const before = seen.length;
    const clients = Array.from(
      { length: CLIENTS },
      (_, turn) =>
        callUntilGone(gateway.url, turn, (callId) => {
          seen.push(callId);
          if (seen.length - before >= ANSWERS + kill) resolve();
        }),
    );
    await Promise.race([isEnough, Promise.all(clients)]);
    await gateway.kill();
    await Promise.all(clients);
  }
  await using core = Object.assign(
    await openCore({
      config: {
        ...{
          dbUrl: db,
          durability: "full",
          remoteTimeoutMs: 10_000,
          maxBodyBytes: 1_000_000,
          environment: "test",
        },
      },
      isReadOnly: true,
    }),
    { [Symbol.asyncDispose]: () => Promise.resolve() },
  );
  const { rows } = await core.store.read({ sql: "SELECT call_id, response_id FROM calls" });
  await core.close();
  const booked = new Set(rows.map(([callId]) => callId));
  assert.deepEqual(
    seen.filter((callId) => !booked.has(callId)),
    [],
    "each answer that a client saw is booked",
  );
  assert.equal(booked.size, rows.length, "once");
  assert.equal(new Set(rows.map(([, id]) => id)).size, rows.length, "and no answer of the provider twice");
  assert.ok(seen.length >= KILLS * ANSWERS);
}

for (const { where, ignore } of sharedInTime) {
  Deno.test({
    name:
      `${where}: after ${KILLS} kills -9 of a gateway under load, every answer that a client saw is booked once`,
    ignore,
    async fn() {
      await using place = await newPlace();
      await using database = await createShared(where, true);
      place.env.PURSER_DB = database.db;
      await playKills(database.db, place);
    },
  });
}
