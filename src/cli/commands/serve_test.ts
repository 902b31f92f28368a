import assert from "node:assert/strict";
import { PurserError } from "../../kernel/errors.ts";
import { openTestBooks } from "../../../tests/harness/test_books.ts";
import { exitCodeOf } from "../exit_code.ts";
import { serveUntil } from "./serve.ts";

/** Serves by a server that does nothing; returns what happened, in its order. */
async function openServer(failed: Promise<never>) {
  const books = await openTestBooks();
  const happened: string[] = [];
  const server = {
    failed,
    shutdown: ({ graceMs, lingerMs }: { graceMs?: number; lingerMs?: number } = {}) => {
      happened.push(`shutdown in ${graceMs} ms, ${lingerMs} for what is on its way`);
      return Promise.resolve();
    },
  };
  return {
    happened,
    serve: (stopped: Promise<void>) =>
      serveUntil(stopped, {
        server,
        core: books.core,
        shutdownMs: 10_000,
        say: (line) => void happened.push(line),
        onStart: () => Promise.resolve(void happened.push("started")),
      }),
    [Symbol.asyncDispose]: books[Symbol.asyncDispose],
  };
}

const SHUTDOWN = "shutdown in 7000 ms, 1000 for what is on its way";

Deno.test("a server that can no longer accept connections is shut down, and ends with an error", async () => {
  const reason = new PurserError("unavailable", "Cannot accept connections on 127.0.0.1:8420");
  const { promise: failed, reject } = Promise.withResolvers<never>();
  await using server = await openServer(failed);
  const ended = server.serve(new Promise(() => {}));
  reject(reason);
  await assert.rejects(ended, reason);
  assert.deepEqual(server.happened, ["started", SHUTDOWN]);
  assert.equal(exitCodeOf(reason), 1);
});

Deno.test("a server that is stopped is shut down, and ends without an error", async () => {
  await using server = await openServer(new Promise(() => {}));
  await server.serve(Promise.resolve());
  assert.deepEqual(server.happened, ["started", "Shutting down; Ctrl-C again exits at once", SHUTDOWN]);
});
