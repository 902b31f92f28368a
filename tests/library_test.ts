import assert from "node:assert/strict";
import {
  BudgetExceededError,
  type ChannelInput,
  createAlertEvaluator,
  createDispatcher,
  openPurser,
  PurserError,
  type PurserOptions,
  readSnapshot,
  type RunPart,
  type Snapshot,
  writeSnapshot,
} from "../src/mod.ts";
import { answerTo } from "./harness/answers.ts";
import { inDirectory } from "./harness/in_directory.ts";
import { startFakeProvider } from "./harness/fake_provider.ts";
import { realModel } from "./harness/metered_models.ts";
import { rejection } from "./harness/test_purser.ts";

const ECHO = { name: "echo", model: "demo:echo" };

Deno.test("openPurser() runs an agent that was never defined, and its API knows the session", async () => {
  const purser = await openPurser({ db: ":memory:", env: {} });
  const parts: RunPart[] = [];
  const result = await purser.runAgent(ECHO, "Hello", {
    sessionId: "s1",
    onPart: (part) => parts.push(part),
  });
  assert.equal(result.output, "You said: Hello");
  assert.equal(result.session_id, "s1");
  assert.equal(parts.flatMap((part) => part.type === "text" ? part.text : []).join(""), result.output);
  assert.equal((await purser.app.request("/sessions/s1")).status, 200);
  assert.equal((await purser.app.request("/agents/echo")).status, 404);
  const agent = await purser.defineAgent({ ...ECHO, cost_budget_usd: 0.5 });
  assert.equal(agent.cost_budget_usd, 0.5);
  assert.equal((await purser.app.request("/agents/echo")).status, 200);
  await purser.close();
});

Deno.test("openPurser() runs the models, tools and prices of its caller before any other", async () => {
  await using fake = await startFakeProvider((request) => answerTo(request, { text: "Custom" }));
  const purser = await openPurser({
    db: ":memory:",
    env: {},
    models: {
      "mine:best": realModel(fake, "openai-compatible", "best"),
      "gpt-4o-mini": realModel(fake, "openai-chat", "gpt-4o-mini"),
    },
    prices: [{ provider: "mine", model: "best", input_usd_per_million: 1, output_usd_per_million: 2 }],
  });
  const mine = await purser.runAgent({ name: "a", model: "mine:best" }, "Hi");
  assert.equal(mine.token_usage.cost_usd, 0.000014);
  assert.equal(
    (await purser.runAgent({ name: "a", model: "gpt-4o-mini" }, "Hi")).token_usage.cost_usd,
    0.0000027,
  );
  await purser.close();
});

Deno.test("openPurser() refuses missing and invalid options, and channels that can't deliver", async () => {
  const refusal = async (options: unknown) => {
    const error = await rejection(openPurser(options as PurserOptions));
    assert.ok(error instanceof PurserError, String(error));
    assert.equal(error.code, "invalid");
    return error.message;
  };
  const db = ":memory:";
  const noDb = "Cannot open Purser: the option db is missing; give a path, :memory: or libsql://…";
  for (const options of [{}, undefined, { db: "" }, { db: 1 }]) assert.equal(await refusal(options), noDb);
  assert.equal(
    await refusal({ db, durability: "fast" }),
    'Cannot open Purser: the option durability is "fast"; it must be one of full, normal',
  );
  assert.match(await refusal({ db, notifyAnomaliesFrom: "loud" }), /must be one of info, warning, critical$/);
  const alertsTo = (channel: object) =>
    createAlertEvaluator({ rules: [], dispatcher: createDispatcher([channel as ChannelInput]) });
  assert.equal(
    await refusal({ db, alerts: alertsTo({ kind: "slak", name: "chat", url: "https://a.example" }) }),
    "Cannot start: alerts can't be delivered through 1 channel\n" +
      "  chat (slak): There is no channel kind slak; did you mean slack?\n" +
      "Correct each where the dispatcher is created",
  );
  assert.match(
    await refusal({ db, alerts: alertsTo({ kind: "webhook" }) }),
    /webhook \(webhook\): url: is missing/,
  );
});

Deno.test("openPurser() refuses an invalid agent, naming every field", async () => {
  const purser = await openPurser({ db: ":memory:", env: {} });
  const wrong = { ...ECHO, budget: 1, max_steps: 0, tools: ["hammer"] };
  const error = await rejection(purser.runAgent(wrong, "Hi"));
  assert.ok(error instanceof PurserError);
  assert.equal(error.code, "invalid");
  assert.match(JSON.stringify(error.details), /max_steps/);
  assert.match(JSON.stringify(error.details), /budget/);
  for (const agent of [{ name: "snapshot", model: "demo:echo" }, { model: "demo:echo" }, { name: "a" }]) {
    assert.equal((await rejection(purser.runAgent(agent as typeof ECHO, "Hi"))).code, "invalid");
  }
  await purser.close();
});

Deno.test("openPurser() refuses names of models and tools that are taken or invalid", async () => {
  const tool = { description: "", inputSchema: {}, execute: () => 1 } as never;
  const wrong: Partial<PurserOptions>[] = [
    { tools: { calculator: tool } },
    { tools: { "no blanks": tool } },
    { tools: { idle: { description: "" } as never } },
    { providers: { openai: { baseUrl: "http://127.0.0.1:1" } } },
    { db: "mysql://x" },
  ];
  for (const options of wrong) {
    assert.equal((await rejection(openPurser({ db: ":memory:", env: {}, ...options }))).code, "invalid");
  }
});

Deno.test("a closed Purser reports that it is closed, and may be closed again", async () => {
  const purser = await openPurser({ db: ":memory:", env: {} });
  await purser.close();
  await purser.close();
  assert.equal((await rejection(purser.runAgent(ECHO, "Hi"))).code, "unavailable");
});

Deno.test("close() waits for runs in progress", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  await using fake = await startFakeProvider((request) => {
    asked.resolve();
    return { ...answerTo(request, { text: "Just in time" }), after: answer.promise };
  });
  const purser = await openPurser({
    db: ":memory:",
    env: {},
    models: { m: realModel(fake, "openai-chat", "gpt-4o-mini") },
  });
  const run = purser.runAgent({ name: "a", model: "m" }, "Hi");
  await asked.promise;
  const closed = purser.close();
  answer.resolve();
  await closed;
  assert.equal((await run).output, "Just in time");
});

Deno.test("a reached budget is a BudgetExceededError with all its details", async () => {
  const purser = await openPurser({ db: ":memory:", env: {} });
  const agent = { name: "loop", model: "demo:loop", tools: ["calculator"], cost_budget_usd: 0.0002 };
  const error = await rejection(purser.runAgent(agent, "Continue"));
  assert.ok(error instanceof BudgetExceededError);
  assert.equal(error.name, "BudgetExceededError");
  assert.equal(error.details.budget_usd, 0.0002);
  assert.ok(error.details.cost_usd_so_far >= 0.0002);
  await purser.close();
});

Deno.test("a program exports a session, keeps it in a file, and restores it", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  try {
    const here = await openPurser({ db: ":memory:", env: {}, environment: "here" });
    await here.runAgent(ECHO, "Hello 🙂", { sessionId: "s1" });
    const snapshot = await here.exportSession("echo", "s1", { tags: { a: "1" }, withEvents: true });
    assert.deepEqual(
      [
        snapshot.schema_version,
        snapshot.agent_id,
        snapshot.source_environment,
        snapshot.state.messages.length,
      ],
      [1, "echo", "here", 2],
    );
    assert.equal(snapshot.events!.length, snapshot.event_log_count);
    for (const path of [`${directory}/s1.json`, `${directory}/s1.json.gz`]) {
      await writeSnapshot(snapshot, path);
      assert.deepEqual(await readSnapshot(path), snapshot);
    }
    assert.equal((await rejection(here.exportSession("other", "s1"))).code, "conflict");
    assert.equal((await rejection(here.exportSession("echo", "none"))).code, "not_found");
    await here.close();

    const there = await openPurser({ db: ":memory:", env: {} });
    const preview = await there.importSession(snapshot, { dryRun: true });
    assert.deepEqual([preview.dry_run, preview.messages_restored], [true, 2]);
    assert.equal((await rejection(there.exportSession("echo", "s1"))).code, "not_found");
    assert.equal((await there.importSession(snapshot)).messages_restored, 2);
    const again = await there.exportSession("echo", "s1");
    assert.deepEqual(again.state.messages, snapshot.state.messages);
    assert.deepEqual([again.agent, again.tags], [snapshot.agent, snapshot.tags]);
    assert.equal((await there.runAgent(ECHO, "More", { sessionId: "s1" })).status, "completed");
    await there.close();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("an invalid snapshot is neither written nor restored, and every problem is reported", async () => {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  try {
    const purser = await openPurser({ db: ":memory:", env: {}, maxSnapshotBytes: 10_000 });
    await purser.runAgent(ECHO, "Hello", { sessionId: "s1" });
    const snapshot = await purser.exportSession("echo", "s1");
    const wrong = { ...snapshot, tags: { a: 1 }, exported_at: "now" } as unknown as Snapshot;
    for (const promise of [purser.importSession(wrong), writeSnapshot(wrong, `${directory}/wrong.json`)]) {
      const { code, details } = await rejection(promise);
      assert.equal(code, "invalid");
      assert.deepEqual(details.issues.map(({ path }: { path: string }) => path), ["tags.a", "exported_at"]);
    }
    const changed = { ...snapshot, tags: { changed: "after the export" } };
    assert.match(
      (await rejection(purser.importSession(changed))).message,
      /integrity: is not that of this document/,
    );
    // Serialized anew, it is a document of its own.
    await writeSnapshot(changed, `${directory}/changed.json`);
    assert.equal(
      (await purser.importSession(await readSnapshot(`${directory}/changed.json`))).messages_restored,
      2,
    );
    const result = {
      type: "tool-result",
      toolCallId: "x",
      toolName: "t",
      output: { type: "text", value: "" },
    };
    const messages = [{ role: "tool", content: [result] }];
    const unanswered = { ...changed, state: { ...snapshot.state, messages } } as unknown as Snapshot;
    const refused = await rejection(writeSnapshot(unanswered, `${directory}/wrong.json`));
    assert.deepEqual(refused.details.issues.map(({ path }: { path: string }) => path), [
      "state.messages[0].content[0].toolCallId",
    ]);
    const cycle: Record<string, unknown> = { ...changed };
    cycle.self = cycle;
    for (const none of [cycle, { ...changed, big: 1n }, undefined]) {
      assert.equal((await rejection(purser.importSession(none as unknown as Snapshot))).code, "invalid");
    }
    const wrongTags: Record<string, string>[] = [{ "a\ud800": "b" }, { a: "\udc00" }, {
      a: "x".repeat(70_000),
    }];
    for (const tags of wrongTags) {
      assert.equal((await rejection(purser.exportSession("echo", "s1", { tags }))).code, "invalid");
    }
    const large = {
      ...changed,
      state: { ...snapshot.state, messages: [{ role: "user", content: "x".repeat(10_000) }] },
    };
    delete large.integrity;
    assert.equal((await rejection(purser.importSession(large as Snapshot))).code, "too_large");
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["changed.json"]);
    await purser.close();
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a library that has run an agent on a file closes once, however often it is called", () =>
  inDirectory(async (directory) => {
    const purser = await openPurser({ db: `${directory}/purser.db` });
    await purser.runAgent({ name: "h", model: "demo:echo" }, "Hi");
    await purser.close();
    await purser.close();
  }));
