import assert from "node:assert/strict";
import { answerTo } from "./harness/answers.ts";
import { newPlace, type Place, purser as runProcess, startServer } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";
import { type FakeProvider, startFakeProvider } from "./harness/fake_provider.ts";
import { findCli } from "./harness/installed_cli.ts";
import { onTerminal } from "./harness/on_terminal.ts";
import { count, spansOf, text } from "./harness/otlp_requests.ts";

/** `purser capture`: whole processes, with a provider whose bill is known. */

const [PROGRAM, RUN, ...ARGS] = await findCli();

/** A call of 1,000 tokens in and 500 out costs 0.00045 USD. */
const MODEL = "gpt-4o-mini";
const CALL_USD = 0.00045;

/** A program that makes calls through the gateway, and exports spans, as its argument says: it runs by `deno eval`. */
const CLIENT = `
const env = (name) => Deno.env.get(name);
const exportOf = env("OTEL_EXPORTER_OTLP_ENDPOINT");
const headers = Object.fromEntries([env("OTEL_EXPORTER_OTLP_HEADERS").split("=")]);
for (const word of Deno.args) {
  if (word === "call") {
    const response = await fetch(env("OPENAI_BASE_URL") + "/chat/completions", {
      method: "POST",
      headers: { authorization: "Bearer " + env("OPENAI_API_KEY") },
      body: JSON.stringify({ model: "${MODEL}", max_completion_tokens: 500, messages: [{ role: "user", content: "Hi" }] }),
    });
    const { id } = await response.json();
    console.log(response.status, id);
  } else if (word === "leave") {
    const response = await fetch(env("GOOGLE_GEMINI_BASE_URL") + "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", {
      method: "POST",
      headers: { "x-goog-api-key": env("GEMINI_API_KEY") },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }),
    });
    await response.body.getReader().read();
    console.log(env("GOOGLE_GEMINI_BASE_URL"));
    Deno.exit(0);
  } else if (word === "stdin") console.log((await new Response(Deno.stdin.readable).text()).toUpperCase());
  else if (word === "hang") await new Promise((resolve) => setTimeout(resolve, 60_000));
  else if (/^\\d+$/.test(word)) Deno.exit(Number(word));
  else {
    const body = word;
    const response = await fetch(exportOf + "/v1/traces", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
    });
    console.log(response.status, "exported");
    await response.body?.cancel();
  }
}`;

/** The words of a command that makes calls and exports spans. */
const client = (...words: string[]) => [Deno.execPath(), "eval", "--no-config", CLIENT, ...words];

/** A span of a call, as JSON of a request. */
function spanOf(responseId: string, output = 500): string {
  const at = Date.now() - 1_000;
  return JSON.stringify(spansOf([{
    traceId: "a".repeat(32),
    spanId: responseId.slice(-4).padStart(16, "b").replaceAll(/[^0-9a-f]/g, "c"),
    name: `chat ${MODEL}`,
    kind: 3,
    startTimeUnixNano: `${at}000000`,
    endTimeUnixNano: `${at + 100}000000`,
    attributes: [
      text("gen_ai.operation.name", "chat"),
      text("gen_ai.provider.name", "openai"),
      text("gen_ai.request.model", MODEL),
      text("gen_ai.response.id", responseId),
      count("gen_ai.usage.input_tokens", 1_000),
      count("gen_ai.usage.output_tokens", output),
    ],
  }]));
}

async function newCapturePlace(fake: FakeProvider): Promise<Place> {
  const place = await newPlace();
  Object.assign(place.env, { OPENAI_API_KEY: "sk-test-of-user", OPENAI_BASE_URL: fake.baseUrls.openai });
  return place;
}

function startCapture(place: Place, args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(PROGRAM, {
    args: [RUN!, "--allow-run", ...ARGS, "capture", ...args],
    clearEnv: true,
    env: place.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function capture(place: Place, args: readonly string[], input = "") {
  const file = `${place.folder}/cost.json`;
  const child = startCapture(place, ["--output", file, ...args]);
  await new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const cost = await Deno.readTextFile(file).then(JSON.parse, () => undefined);
  return { code, out: decode(stdout), err: decode(stderr), cost };
}

let answers = 0;
const startProvider = () =>
  startFakeProvider((request) => {
    const { answer } = answerTo(request, { text: "Hi", usage: { inputTokens: 1_000, outputTokens: 500 } });
    const id = `chatcmpl-${++answers}-${crypto.randomUUID()}`;
    return { answer: { ...answer, body: { ...answer.body as object, id } } };
  });

Deno.test("a command costs what the provider bills; its input, output and exit code are its own", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  const args = ["--tag", "team=search", "--", ...client("stdin", "call", "call", "3")];
  const { code, out, err, cost } = await capture(place, args, "hello");
  assert.equal(code, 3, err);
  assert.match(out, /^HELLO\n200 chatcmpl-\S+\n200 chatcmpl-\S+\n$/);
  assert.equal(fake.calls, 2);
  assert.deepEqual([cost.total.cost_usd, cost.total.model_calls, cost.exit_code], [2 * CALL_USD, 2, 3]);
  assert.equal(cost.by_model[0].model, MODEL);
  assert.match(err, /^deno cost \$0\.0009 in 2 calls$/m);
  // The provider gets the user's key, the command one of its own, which has ended.
  assert.deepEqual(
    new Set(fake.requests.map(({ headers }) => headers.authorization)),
    new Set(["Bearer sk-test-of-user"]),
  );
  const keys = JSON.parse((await purser(place, ["keys", "list", "--json"])).out);
  assert.deepEqual(keys.map(({ name, status }: { name: string; status: string }) => [name, status]), [[
    "deno",
    "revoked",
  ]]);
  assert.match((await purser(place, ["cost", "--by", "agent"])).out, /^deno .*\$0\.0009 /m);
  assert.match((await purser(place, ["cost", "--by", "tag:team"])).out, /^search .*\$0\.0009 /m);
});

Deno.test("a call that the gateway and telemetry have seen is one call, and one that only telemetry has seen counts", async () => {
  await using fake = await startFakeProvider((request) => {
    const { answer } = answerTo(request, { text: "Hi", usage: { inputTokens: 1_000, outputTokens: 500 } });
    return { answer: { ...answer, body: { ...answer.body as object, id: "chatcmpl-both-0001" } } };
  });
  await using place = await newCapturePlace(fake);
  const words = ["call", spanOf("chatcmpl-both-0001"), spanOf("chatcmpl-past-0002")];
  const { code, err, cost } = await capture(place, ["--", ...client(...words)]);
  assert.equal(code, 0, err);
  assert.deepEqual([cost.total.model_calls, cost.total.cost_usd], [2, 2 * CALL_USD]);
});

Deno.test("a stream that the command has left is in its cost as it was billed, to its end", async () => {
  const isServerGone = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => {
    const { answer } = answerTo(request, { text: "Hi", usage: { inputTokens: 1_000, outputTokens: 500 } });
    const [first, ...rest] = answer.frames;
    return { paced: [first!, isServerGone.promise, ...rest] };
  });
  await using place = await newCapturePlace(fake);
  Object.assign(place.env, { GEMINI_API_KEY: "test", GOOGLE_GEMINI_BASE_URL: fake.baseUrls.google });
  const file = `${place.folder}/cost.json`;
  const child = startCapture(place, ["--output", file, "--", ...client("leave")]);
  await child.stdin.close();
  const { value: url = "" } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  const answers = () => fetch(url.trim()).then(({ body }) => body?.cancel()).then(() => true, () => false);
  while (await answers());
  isServerGone.resolve();
  await new Response(child.stderr).text();
  const { total } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual([total.model_calls, total.output_tokens, total.estimated_calls], [1, 500, 0]);
});

Deno.test("through a server, too, a stream that ends after the command is in its cost", async () => {
  const isLeft = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => {
    const { answer } = answerTo(request, { text: "Hi", usage: { inputTokens: 1_000, outputTokens: 500 } });
    const [first, ...rest] = answer.frames;
    return { paced: [first!, isLeft.promise, ...rest] };
  });
  await using place = await newCapturePlace(fake);
  Object.assign(place.env, {
    GOOGLE_GENERATIVE_AI_API_KEY: "test",
    GOOGLE_GENERATIVE_AI_BASE_URL: fake.baseUrls.google,
  });
  const { key } = JSON.parse(
    (await purser(place, ["keys", "add", "admin", "--scope", "admin", "--json"])).out,
  );
  await using server = await startServer(place);
  const file = `${place.folder}/cost.json`;
  const args = ["--server", server.url, "--api-key", key, "--output", file, "--", ...client("leave")];
  const child = startCapture(place, args);
  await child.stdin.close();
  const said = new Response(child.stderr).text();
  await child.stdout.getReader().read();
  const headers = { authorization: `Bearer ${key}` };
  const [{ key_id: id }] = await (await fetch(`${server.url}/keys?name=deno`, { headers })).json();
  const own = await (await fetch(`${server.url}/keys/${id}`, { headers })).json();
  assert.equal(own.calls_in_progress, 1);
  // Should the command be killed, its key ends by itself.
  const endsIn = Date.parse(own.expires_at) - Date.now();
  assert.ok(endsIn > 50 * 60_000 && endsIn <= 60 * 60_000, `${endsIn}`);
  isLeft.resolve();
  assert.match(await said, /^deno cost \$\S+ in 1 call$/m);
  const { total } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual([total.model_calls, total.output_tokens, total.estimated_calls], [1, 500, 0]);
});

Deno.test("at its budget the gateway refuses the calls of a command, and the budget is gone with it", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  // The worst case of a call is more than its cost: after two there is no room for a third one.
  const { code, out, err, cost } = await capture(place, [
    "--budget",
    "0.0013",
    "--",
    ...client("call", "call", "call", "call"),
  ]);
  assert.equal(code, 0, err);
  assert.match(out, /^200 .*\n[^]*402 undefined\n$/);
  assert.equal(cost.total.cost_usd, fake.calls * CALL_USD);
  assert.ok(cost.total.cost_usd <= 0.0013);
  assert.deepEqual([cost.budget_usd, cost.budget_reached], [0.0013, true]);
  assert.match(err, /of a budget of \$0\.0013, which was reached$/m);
  assert.equal((await purser(place, ["budgets", "list", "--json"])).out, "[]\n");
});

Deno.test("a command whose calls pass the gateway isn't stopped: it is told", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  const args = ["--budget", "0.0004", "--budget-mode", "stop", "--", ...client("call", "call", "6")];
  const { code, out, err, cost } = await capture(place, args);
  assert.equal(code, 6, err);
  assert.match(out, /^200 .*\n402 undefined\n$/);
  assert.deepEqual([cost.total.cost_usd, cost.budget_reached], [CALL_USD, true]);
});

Deno.test("what telemetry tells of a command over its budget stops it", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  const words = [spanOf("chatcmpl-past-0003", 5_000), "hang"];
  const { code, err, cost } = await capture(place, ["--budget", "0.001", "--", ...client(...words)]);
  assert.equal(code, 5, err);
  assert.match(err, /^warning: The budget of \$0\.001 is reached: the command is stopped$/m);
  assert.deepEqual([cost.exit_code, cost.budget_reached, fake.calls], [5, true, 0]);
});

Deno.test("the exit code is that of a shell for a command that can't be run, or that a signal has ended", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  const missing = await capture(place, ["--", "no-such-command-here"]);
  assert.equal(missing.code, 127);
  assert.match(missing.err, /^Cannot run no-such-command-here: no such command$/m);
  assert.equal((await capture(place, ["--", place.folder])).code, 126);
  assert.equal((await capture(place, ["--", "sh", "-c", "kill -TERM $$"])).code, 128 + 15);
  const empty = await capture(place, ["--", "sh", "-c", 'test -z "$1" && exit 4', "", ""]);
  assert.equal(empty.code, 4);
  assert.match(empty.err, /^sh made no model call that was seen/m);
  const bare = await capture(place, []);
  assert.deepEqual([bare.code, /without a COMMAND/.test(bare.err)], [2, true]);
});

Deno.test("a signal that comes as the command begins goes to the command", async () => {
  await using place = await newPlace();
  const script = "trap 'exit 8' TERM; kill -TERM $PPID; sleep 300 & wait";
  const { code, err } = await capture(place, ["--", "sh", "-c", script]);
  assert.equal(code, 8, err);
});

Deno.test("a signal goes to the command, and nothing that it has started is left", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  const script = `trap 'echo stopped; exit 7' TERM; sleep 30 & echo $! $OPENAI_BASE_URL; wait`;
  const child = startCapture(place, ["--", "sh", "-c", script]);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let out = "";
  while (!out.includes("\n")) out += (await reader.read()).value ?? assert.fail(out);
  const [, pid, url] = /^(\d+) (\S+)\n/.exec(out)!;
  child.kill("SIGTERM");
  for (;;) {
    const { done, value = "" } = await reader.read();
    out += value;
    if (done) break;
  }
  await child.stdin.close();
  await child.stderr.cancel();
  assert.equal((await child.status).code, 7);
  assert.match(out, /stopped\n$/);
  await assert.rejects(Deno.stat(`/proc/${pid}`));
  await assert.rejects(fetch(url!), TypeError);
});

Deno.test("on a terminal, Ctrl-C goes to the command", async () => {
  await using place = await newPlace();
  const script = `trap 'echo got it; exit 9' INT; echo ready; read x; read y`;
  const words = [PROGRAM, RUN!, "--allow-run", ...ARGS, "capture", "--", "sh", "-c", script];
  const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  let typed = false;
  const out = await onTerminal(line, place.env, async (out, terminal) => {
    if (typed || !out.includes("ready")) return;
    typed = true;
    await terminal.type("\x03");
  });
  assert.match(out, /ready[^]*got it[^]*sh made no model call/);
});

Deno.test("a ledger without keys stays open, and a server without any is not captured through", async () => {
  await using fake = await startProvider();
  await using place = await newCapturePlace(fake);
  {
    await using server = await startServer(place);
    assert.equal((await capture(place, ["--", ...client("call")])).code, 0);
    const answer = await fetch(`${server.url}/costs/total`);
    assert.deepEqual([answer.status, (await answer.json()).model_calls], [200, 1]);
    const through = await capture(place, ["--server", server.url, "--", "true"]);
    assert.equal(through.code, 4);
    assert.match(through.err, /it has no API key yet/);
  }
  const { out } = await purser(place, ["keys", "add", "admin", "--scope", "admin", "--json"]);
  await using server = await startServer(place);
  const { key } = JSON.parse(out);
  const args = ["--server", server.url, "--api-key", key, "--name", "ci", "--", ...client("call")];
  const { code, err, cost } = await capture(place, args);
  assert.equal(code, 0, err);
  assert.deepEqual([cost.name, cost.total.model_calls, cost.total.cost_usd], ["ci", 1, CALL_USD]);
});

Deno.test("without the permission to start programs, Deno's command says what to add", async () => {
  await using place = await newPlace();
  const { code, err } = await runProcess(place, ["capture", "--", "true"]);
  assert.equal(code, 4);
  assert.match(err, /^error: Cannot run true: .*add --allow-run/);
});
