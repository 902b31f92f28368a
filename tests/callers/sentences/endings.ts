import assert from "node:assert/strict";
import { readCalls } from "../../gateway/requests.ts";
import { answerFor, COST, isStreamed, overOneWire, type Sentence } from "../sentence.ts";
import { addBudget, assertNothingReserved, estimateWarnings, MODEL, readRows, type World } from "../world.ts";

/** The ways in which a call ends, other than with its answer. */
export const ENDINGS: readonly Sentence[] = [
  {
    says: "sends, books and reserves nothing where it is cancelled before",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const outcome = await caller.call(world, { signal: AbortSignal.abort() });
      assert.equal(outcome.isOk, false);
      assert.deepEqual([world.fake.calls, await readCalls(world.purser)], [0, []]);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books an estimate of a call that is cancelled while it sends its request, without a warning",
    // The gateway goes on sending: its client may have left, but the provider may charge for what it has got.
    of: (caller) => (caller.kind === "run" || caller.kind === "meter") && overOneWire(caller),
    async check(caller, openWorld) {
      await using peer = startStalling();
      await using world = await openWorld({}, peer.url);
      await addBudget(world, { limit_usd: 100 });
      const leaving = new AbortController();
      const calling = caller.call(world, { signal: leaving.signal, prompt: "x".repeat(5 * MIB) });
      await Promise.race([peer.hasBegun, calling]);
      leaving.abort();
      assert.equal((await calling).isOk, false);
      assert.deepEqual((await readCalls(world.purser)).map(({ isEstimated }) => isEstimated), [true]);
      assert.deepEqual(await readOutcome(world), ["cancelled", undefined]);
      assert.deepEqual(estimateWarnings(world), []);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a call once that is cancelled while it waits for its answer, without a warning",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const leaving = new AbortController();
      const rest = Promise.withResolvers<void>();
      world.fake.enqueue({ ...answerFor(caller), after: rest.promise });
      world.fake.onRequest = () => {
        setTimeout(() => leaving.abort(), 5);
        setTimeout(rest.resolve, 15);
      };
      const outcome = await caller.call(world, { signal: leaving.signal });
      assert.equal(outcome.isOk, false);
      const calls = await readCalls(world.purser);
      assert.equal(calls.length, 1);
      if (!calls[0]!.isEstimated) assert.equal(calls[0]!.cost, COST);
      if (calls[0]!.isEstimated) assert.deepEqual(await readOutcome(world), ["cancelled", undefined]);
      assert.deepEqual(estimateWarnings(world), [], "no usage was expected");
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a stream once that is cancelled in its middle, without a warning",
    of: isStreamed,
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const leaving = new AbortController();
      const rest = Promise.withResolvers<void>();
      const { frames } = answerFor(caller).answer;
      const middle = frames.findIndex((frame) => frame.includes("Hel")) + 1;
      world.fake.enqueue({ paced: [...frames.slice(0, middle), rest.promise, ...frames.slice(middle)] });
      const outcome = await caller.call(world, {
        signal: leaving.signal,
        onPart() {
          leaving.abort();
          setTimeout(rest.resolve, 5);
        },
      });
      assert.equal(outcome.isOk, false);
      const calls = await readCalls(world.purser);
      assert.equal(calls.length, 1);
      // A provider that charges for what was not read may be read to the end.
      if (!calls[0]!.isEstimated) assert.equal(calls[0]!.cost, COST);
      if (calls[0]!.isEstimated) assert.deepEqual(await readOutcome(world), ["cancelled", undefined]);
      assert.deepEqual(estimateWarnings(world), []);
      await assertNothingReserved(world);
    },
  },
  {
    says:
      "books a call once that is cancelled once it is booked, before its caller has the end of the answer",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const leaving = new AbortController();
      const { store } = world.purser.core;
      const writeInSet = store.writeInSet.bind(store);
      store.writeInSet = async (writer, item) => {
        const result = await writeInSet(writer, item);
        if ("calls" in (item as object)) leaving.abort();
        return result;
      };
      world.fake.enqueue(answerFor(caller));
      await caller.call(world, { signal: leaving.signal });
      const calls = await readCalls(world.purser);
      assert.deepEqual(calls.map(({ cost, isEstimated }) => [cost, isEstimated]), [[COST, false]]);
      assert.deepEqual(estimateWarnings(world), []);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books an estimate, with a warning, of a stream that breaks off, and its span has the error",
    of: isStreamed,
    async check(caller, openWorld) {
      await using world = await openWorld();
      const { frames } = answerFor(caller).answer;
      const middle = frames.findIndex((frame) => frame.includes("Hel")) + 1;
      world.fake.enqueue({ brokenAfter: frames.slice(0, middle) });
      assert.equal((await caller.call(world)).isOk, false);
      assert.deepEqual((await readCalls(world.purser)).map(({ isEstimated }) => isEstimated), [true]);
      assert.deepEqual(await readOutcome(world), ["cut", undefined]);
      const [warning, ...more] = estimateWarnings(world);
      assert.ok(warning && more.length === 0);
      const { errorType, attributes } = world.telemetry.span(`chat ${MODEL}`);
      assert.ok(errorType && errorType !== "broken", `a typed error: ${errorType}`);
      assert.equal(attributes["purser.usage_estimated"], true);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books an estimate, with a warning, of an answer that can't be read",
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue({ text: "{ this is no JSON" });
      await caller.call(world);
      assert.deepEqual((await readCalls(world.purser)).map(({ isEstimated }) => isEstimated), [true]);
      assert.equal(estimateWarnings(world).length, 1);
    },
  },
  {
    says: "books nothing for an error without usage, and its span has the error",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      world.fake.enqueue({ status: 400, message: "not known" });
      assert.equal((await caller.call(world)).isOk, false);
      assert.deepEqual(await readCalls(world.purser), []);
      const { errorType, hasEnded } = world.telemetry.span(`chat ${MODEL}`);
      assert.deepEqual([hasEnded, errorType], [true, "400"]);
      await assertNothingReserved(world);
    },
  },
  {
    says: "books a call by the usage that its error has, and its span has the error",
    async check(caller, openWorld) {
      await using world = await openWorld();
      await addBudget(world, { limit_usd: 1 });
      const { body } = answerFor(caller).answer;
      const error = {
        ...body as object,
        error: { message: "stopped", type: "server_error", code: "stopped" },
      };
      const headers = { "request-id": "req_failed" };
      world.fake.enqueue({ status: 400, text: JSON.stringify(error), headers });
      assert.equal((await caller.call(world)).isOk, false);
      const calls = await readCalls(world.purser);
      assert.deepEqual(calls.map(({ cost, isEstimated }) => [cost, isEstimated]), [[COST, false]]);
      assert.deepEqual(await readOutcome(world), ["failed", 400]);
      assert.deepEqual(await readRows(world, "SELECT request_id FROM calls"), [["req_failed"]]);
      assert.equal(world.telemetry.span(`chat ${MODEL}`).errorType, "400");
      await assertNothingReserved(world);
    },
  },
  {
    says: "books nothing for an attempt that failed, and the one that is sent again once",
    of: ({ kind }) => kind === "meter" || kind === "gateway",
    async check(caller, openWorld) {
      await using world = await openWorld();
      world.fake.enqueue({ status: 503, message: "overloaded" }, answerFor(caller));
      assert.equal((await caller.call(world)).isOk, false);
      assert.equal((await caller.call(world)).isOk, true);
      assert.deepEqual((await readCalls(world.purser)).map(({ cost }) => cost), [COST]);
      await assertNothingReserved(world);
    },
  },
];

/** Reads the outcome of the only call, and the status of one that failed with one. */
async function readOutcome(world: World): Promise<unknown[]> {
  const [[details]] = await readRows(world, "SELECT details FROM calls") as [[string | null]];
  const { outcome, http_status } = JSON.parse(details ?? "{}");
  return [outcome, http_status];
}

const MIB = 1024 * 1024;

/** A provider that reads the beginning of a request, and no more. */
function startStalling() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const begun = Promise.withResolvers<void>();
  const connections: Deno.Conn[] = [];
  const served = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      await connection.read(new Uint8Array(64 * 1024));
      begun.resolve();
    }
  })().catch(() => {});
  return {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}/v1`,
    hasBegun: begun.promise,
    async [Symbol.asyncDispose]() {
      listener.close();
      await served;
      for (const connection of connections) connection.close();
    },
  };
}
