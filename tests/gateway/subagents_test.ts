import assert from "node:assert/strict";
import { answerTo } from "../harness/answers.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { makeKey, openHttpClient } from "../harness/http_client.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { sendTo } from "./requests.ts";

/**
 * Sub-agents at the gateway. The headers are those of Claude Code 2.1.332 and Codex 0.171.0 as a provider has received them on
 * 2026-11-26, one set for each agent.
 */

const CLAUDE = "2b7756d5-4e31-41f5-9b31-2702630b9d8a";
const AGENTS: Record<string, string>[] = [
  {},
  { "x-claude-code-agent-id": "a89faa29883c0bf91" },
  {
    "x-claude-code-agent-id": "a71802fcc805be9c2",
    "x-claude-code-parent-agent-id": "a89faa29883c0bf91",
  },
  { "x-claude-code-agent-id": "a1cca701d08f899c4" },
];
const CLAUDE_CODE = AGENTS.map((headers) => ({ "x-claude-code-session-id": CLAUDE, ...headers }));

const CODEX = "01a217ae-53e0-7580-9681-c6f92206bf9d";
const LOOK = "01a217ae-55f2-7943-b1a4-7d364f1cec7d";
const turnOf = (turn: Record<string, unknown>) =>
  JSON.stringify({ installation_id: "7785d374-08de-4adf-9dce-4159836b3882", session_id: CODEX, ...turn });
const CODEX_ROOT = {
  "session-id": CODEX,
  "x-codex-turn-metadata": turnOf({ thread_id: CODEX, agent_name: "/root", request_kind: "turn" }),
};
const CODEX_LOOK = {
  "session-id": CODEX,
  "x-codex-parent-thread-id": CODEX,
  "x-codex-turn-metadata": turnOf({
    ...{ thread_id: LOOK, agent_name: "/root/look", request_kind: "turn", parent_thread_id: CODEX },
    subagent_kind: "thread_spawn",
  }),
};

const MESSAGES = {
  path: "/v1/messages?beta=true",
  body: { model: "claude-sonnet-4-5", max_tokens: 64, messages: [{ role: "user", content: "Hi" }] },
};
const RESPONSES = { path: "/openai/v1/responses", body: { model: "gpt-5", input: "Hi" } };

const open = async () => {
  const fake = await startFakeProvider((request) => answerTo(request, { text: "Hi" }));
  const purser = await openTestPurser({ fake });
  return {
    ...{ fake, purser },
    agentsOf: async (session: string) =>
      (await purser.api("GET", `/sessions/${session}/tree`)).body.agents
        .map((
          { depth, subagent, type, model_calls }: Record<string, unknown>,
        ) => [depth, subagent, type, model_calls]),
    async [Symbol.asyncDispose]() {
      await purser[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
};

Deno.test("the sub-agents of Claude Code are a tree below their session, and count in its budget", async () => {
  await using t = await open();
  const budget = (await t.purser.api("POST", "/budgets", { name: "Tree", per: "tree", limit_usd: 1 })).body;
  for (const headers of [...CLAUDE_CODE, CLAUDE_CODE[2]!]) {
    assert.equal((await sendTo(t.purser, MESSAGES, { headers })).status, 200);
  }
  assert.deepEqual(await t.agentsOf(CLAUDE), [
    [0, null, null, 1],
    [1, "a89faa29883c0bf91", null, 1],
    [2, "a71802fcc805be9c2", null, 2],
    [1, "a1cca701d08f899c4", null, 1],
  ]);
  const { body: [counter, ...others] } = await t.purser.api("GET", `/budgets/${budget.budget_id}/counters`);
  assert.deepEqual([counter.kind, counter.id, others.length], ["tree", CLAUDE, 0]);
  await t.purser.api("PATCH", `/budgets/${budget.budget_id}`, { limit_usd: counter.spent_usd });
  const refused = await sendTo(t.purser, MESSAGES, { headers: CLAUDE_CODE[2]! });
  assert.equal(refused.status, 402, "a spent tree refuses a nested sub-agent");
  assert.match((await refused.json()).error.message, new RegExp(`tree ${CLAUDE}`));
});

Deno.test("the sub-agents of Codex are those of its turn metadata in a header, or else in the body, which comes first", async () => {
  await using t = await open();
  const send = async (headers: Record<string, string>, more = {}) =>
    assert.equal(
      (await sendTo(t.purser, { ...RESPONSES, body: { ...RESPONSES.body, ...more } }, { headers })).status,
      200,
    );
  await send(CODEX_ROOT);
  await send(CODEX_LOOK);
  // Headers alone, of a build without the metadata.
  await send({
    "session-id": CODEX,
    ...{ "thread-id": "t-review", "x-codex-parent-thread-id": LOOK, "x-openai-subagent": "review" },
  });
  // The body names another session than the headers; the key of the prompt's cache names none.
  await send({ "session-id": "forged" }, {
    prompt_cache_key: "the-root's-own",
    client_metadata: {
      "x-codex-turn-metadata": turnOf({
        thread_id: "t-body",
        parent_thread_id: LOOK,
        subagent_kind: "compact",
      }),
    },
  });
  assert.deepEqual(await t.agentsOf(CODEX), [
    [0, null, null, 1],
    [1, LOOK, "look", 1],
    [2, "t-review", "review", 1],
    [2, "t-body", "compact", 1],
  ]);
});

Deno.test("forged ids of sub-agents are cut to tags, and no session is another key's of one agent", async () => {
  await using t = await open();
  const { key } = await makeKey(t.purser, ["call"], { agent_id: "coder" });
  const { key: reader } = await makeKey(t.purser, ["read"]);
  const client = openHttpClient(t.purser);
  const forged = {
    ...{ "session-id": "s", "thread-id": "x".repeat(4_000), "x-codex-turn-metadata": "{no JSON" },
    "x-codex-parent-thread-id": "x".repeat(4_000),
  };
  const metadata = turnOf({
    session_id: CODEX,
    thread_id: "a\u0000\ud800b",
    parent_thread_id: 7,
    subagent_kind: {},
  });
  for (
    const [headers, body] of [[forged, {}], [{}, {
      client_metadata: { "x-codex-turn-metadata": metadata },
    }]] as const
  ) {
    const sent = { key, headers, body: { ...RESPONSES.body, ...body } };
    assert.equal((await client.raw("POST", RESPONSES.path, sent)).status, 200);
  }
  const read = async (session: string) =>
    (await client.send("GET", `/sessions/${session}/tree`, { key: reader })).body.agents
      .map(({ depth, subagent, model_calls }: Record<string, unknown>) => [depth, subagent, model_calls]);
  assert.deepEqual(await read("coder:s"), [[0, null, 0], [1, "x".repeat(100), 1]]);
  assert.deepEqual(await read(`coder:${CODEX}`), [[0, null, 0], [1, "a \ufffdb", 1]]);
  assert.equal((await client.send("GET", `/sessions/${CODEX}/tree`, { key: reader })).status, 404);
});

Deno.test("a call that names a run of Purser counts in the tree of that run", async () => {
  await using t = await open();
  await t.purser.api("PUT", "/agents/boss", { model: "openai.chat:gpt-4o-mini" });
  const run = async (parent_run_id?: string) =>
    (await t.purser.api("POST", "/agents/boss/runs", { input: "Go", parent_run_id })).body;
  const root = await run();
  const below = await run(root.run_id);
  const headers = { "x-purser-run": below.run_id, "x-purser-session": "tool" };
  assert.equal((await sendTo(t.purser, MESSAGES, { headers })).status, 200);
  const { body } = await t.purser.api("GET", `/sessions/${root.session_id}/tree`);
  assert.deepEqual(
    body.agents.map(({ session_id, model_calls }: Record<string, unknown>) => [session_id, model_calls]),
    [[root.session_id, 1], [below.session_id, 1], ["tool", 1]],
  );
  // A key of one agent names its own runs, so that it adds to no tree of others.
  const { key } = await makeKey(t.purser, ["call"], { agent_id: "coder" });
  const { key: reader } = await makeKey(t.purser, ["read"]);
  const client = openHttpClient(t.purser);
  assert.equal((await client.raw("POST", MESSAGES.path, { key, headers, body: MESSAGES.body })).status, 200);
  const after = await client.send("GET", `/sessions/${root.session_id}/tree`, { key: reader });
  assert.equal(after.body.agents[0].with_subagents.model_calls, 3);
});
