import type { LanguageModelV4 } from "@ai-sdk/provider";
import assert from "node:assert/strict";
import { type Connection, createApiClient } from "../client/mod.ts";
import { fixedClock } from "../kernel/clock.ts";
import { memoryTerminal } from "../../tests/harness/memory_terminal.ts";
import { main } from "./mod.ts";
import { BrokenPipeError } from "./terminal/terminal.ts";
import { openTestBooks } from "../../tests/harness/test_books.ts";

/** Early ends of commands: by Ctrl-C, and by a pipe that is closed. */

/** A model that answers nothing until its call is cancelled. */
function hangingModel(onCall: () => void): LanguageModelV4 {
  const hang = ({ abortSignal }: { abortSignal?: AbortSignal }): Promise<never> => {
    onCall();
    return new Promise((_, reject) => {
      abortSignal?.addEventListener("abort", () => reject(abortSignal.reason), { once: true });
    });
  };
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "hanging",
    supportedUrls: {},
    doGenerate: hang,
    doStream: hang,
  };
}

Deno.test("Ctrl-C cancels the run through the API, and ends with 130", async () => {
  const terminal = memoryTerminal();
  await using books = await openTestBooks({ models: { slow: hangingModel(() => terminal.interrupt()) } });
  await books.purser("agents set sleeper --model slow");
  const { code, out, err } = await books.purser("run sleeper hi --session first", { terminal });
  assert.equal(code, 130);
  assert.equal(out, "");
  assert.match(
    err,
    /^Cancelling the run; Ctrl-C again exits at once\nwarning: The run was cancelled\n1 step · /,
  );
  const { out: session } = await books.purser("sessions show first --json");
  assert.equal(JSON.parse(session).status, "cancelled");
  assert.equal(books.openConnections, 0);
});

Deno.test("Ctrl-C before the run has begun cancels it as soon as it has", async () => {
  await using books = await openTestBooks({ models: { slow: hangingModel(() => {}) } });
  await books.purser("agents set sleeper --model slow");
  const terminal = memoryTerminal();
  const running = books.purser("run sleeper hi --session first --json", { terminal });
  terminal.interrupt();
  assert.equal((await running).code, 130);
  assert.deepEqual([...books.core.liveRuns.keys()], []);
});

Deno.test("Ctrl-C ends a run even if the server never answers", async () => {
  const clock = fixedClock(0);
  const terminal = memoryTerminal();
  const asked = Promise.withResolvers<void>();
  const send = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const connection: Connection = {
    api: createApiClient({ baseUrl: "http://purser.invalid", send }),
    send,
    kind: "remote",
    where: "hanging",
    close: () => Promise.resolve(),
  };
  const running = main(["run", "helper", "hi"], {
    terminal,
    env: { PURSER_SERVER: "http://hanging" },
    connect: () => Promise.resolve(connection),
    clock,
  });
  await asked.promise;
  terminal.interrupt();
  await new Promise((resolve) => setTimeout(resolve));
  clock.advance(10_000);
  assert.equal(await running, 130);
  assert.match(
    terminal.err,
    /Cannot cancel the run: the server has not answered for 10 s; the run may continue\n$/,
  );
});

Deno.test("Ctrl-C ends any other command at once", async () => {
  await using books = await openTestBooks();
  const terminal = memoryTerminal();
  terminal.interrupt();
  assert.equal((await books.purser("cost", { terminal })).code, 130);
  assert.equal(books.openConnections, 0);
});

Deno.test("a broken pipe ends a command quietly", async () => {
  await using books = await openTestBooks();
  const terminal = memoryTerminal({
    onWrite: () => {
      throw new BrokenPipeError("closed");
    },
  });
  assert.deepEqual(await books.purser("agents list", { terminal }), { code: 0, out: "", err: "" });
  assert.deepEqual(await books.purser("--help", { terminal }), { code: 0, out: "", err: "" });
});
