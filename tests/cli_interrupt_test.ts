import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { answerTo } from "./harness/answers.ts";
import { newPlace, type Place, start, startServer } from "./harness/cli_process.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { inProcess } from "./harness/in_process.ts";

/** Ctrl-C and readers that close the pipe, with real processes: the same end for a local and a remote run. */

const PRICE = { provider: "slow", model: "model", input_usd_per_million: 100, output_usd_per_million: 100 };

/** A provider whose first call of a run requests a tool, and whose second never ends. */
async function withSlowAgent(test: (place: Place, hangs: Promise<void>) => Promise<void>): Promise<void> {
  const hangs = Promise.withResolvers<void>();
  await using place = await newPlace();
  await using provider = await startFakeProvider((request) => {
    if (request.body.messages.length < 3) {
      return answerTo(request, { toolCall: { id: "1", name: "calculator", input: { expression: "1+1" } } });
    }
    hangs.resolve();
    return { hang: true };
  });
  await Deno.mkdir(`${place.folder}/purser`);
  await Deno.writeTextFile(
    `${place.folder}/purser/purser.json`,
    JSON.stringify({ providers: { slow: { base_url: provider.baseUrls.compatible } }, prices: [PRICE] }),
  );
  const set = ["agents", "set", "sleeper", "--model", "slow:model", "--tool", "calculator"];
  assert.equal((await inProcess(place, set)).code, 0);
  await test(place, hangs.promise);
}

/** Runs the agent, presses Ctrl-C in its second call, and checks what is left. */
async function interrupt(place: Place, hangs: Promise<void>): Promise<void> {
  const child = start(place, ["run", "sleeper", "hi", "--session", "first"]);
  await hangs;
  child.kill("SIGINT");
  const { code, stdout, stderr } = await child.output();
  assert.equal(code, 130);
  assert.equal(new TextDecoder().decode(stdout), "");
  assert.match(
    new TextDecoder().decode(stderr),
    /^Cancelling the run; Ctrl-C again exits at once\nwarning: The run was cancelled\n2 steps · .* · first\n$/,
  );
  const session = JSON.parse((await inProcess(place, ["sessions", "show", "first", "--json"])).out);
  assert.deepEqual([session.status, session.active_run_id], ["cancelled", null]);
  // The first call as the provider reported it, the second as an estimate: the prompt was processed.
  assert.equal(session.token_usage.model_calls, 2);
  assert.ok(session.token_usage.cost_usd > 12 * 100 / 1e6, JSON.stringify(session));
  const [row] = JSON.parse((await inProcess(place, ["cost", "--by", "run", "--json"])).out);
  assert.deepEqual([row.model_calls, row.cost_usd], [2, session.token_usage.cost_usd]);
}

Deno.test("Ctrl-C cancels a run in this process; its calls are booked", () => withSlowAgent(interrupt));

Deno.test("Ctrl-C twice exits at once, and leaves no run running in the database", () =>
  withSlowAgent(async (place, hangs) => {
    const child = start(place, ["run", "sleeper", "hi", "--session", "first"]);
    await hangs;
    using lock = new DatabaseSync(place.env.PURSER_DB!); // its cancel can't be written yet
    lock.exec("BEGIN IMMEDIATE");
    const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
    child.kill("SIGINT");
    assert.match((await reader.read()).value!, /Ctrl-C again exits at once/);
    child.kill("SIGINT");
    lock.exec("ROLLBACK");
    await reader.cancel();
    assert.equal((await child.status).code, 130);
    await child.stdout.cancel();
    // Read by itself: a command of Purser would recover the run.
    const read = "SELECT r.status, s.status AS of_session, s.active_run_id FROM runs r, sessions s";
    const [{ status, of_session, active_run_id }, ...more] = lock.prepare(read).all() as [
      Record<string, unknown>,
    ];
    assert.deepEqual([more, active_run_id, of_session], [[], null, status]);
    assert.ok(status === "interrupted" || status === "cancelled", `${status}`);
  }));

Deno.test("Ctrl-C cancels a run beside a server on the same file; its calls are booked", () =>
  withSlowAgent(async (place, hangs) => {
    await using _server = await startServer(place);
    await interrupt(place, hangs);
  }));

Deno.test("Ctrl-C cancels a run on a remote server; its calls are booked", () =>
  withSlowAgent(async (place, hangs) => {
    await using server = await startServer(place);
    const { PURSER_DB: _, ...env } = place.env;
    await interrupt({ ...place, env: { ...env, PURSER_SERVER: server.url } }, hangs);
  }));

Deno.test("a broken pipe half way ends a command quietly", async () => {
  await using place = await newPlace();
  await inProcess(place, "agents set looper --model demo:loop --tool calculator --max-steps 1000".split(" "));
  // More than a pipe holds and a reader takes at once, 64 kB each.
  await inProcess(place, ["run", "looper", "320 times", "--session", "long"]);
  await using server = await startServer(place);
  const { PURSER_DB: _, ...env } = place.env;
  for (const where of [place, { ...place, env: { ...env, PURSER_SERVER: server.url } }]) {
    for (const args of [["state", "replay", "long"], ["state", "export", "looper", "--output", "-"]]) {
      const child = start(where, args);
      const reader = child.stdout.getReader();
      assert.ok((await reader.read()).value!.length > 0);
      await reader.cancel();
      const { code } = await child.status;
      assert.deepEqual([code, await new Response(child.stderr).text()], [0, ""], args.join(" "));
    }
  }
});
