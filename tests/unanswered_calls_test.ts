import assert from "node:assert/strict";
import { type FakeProvider, type ProviderRequest, startFakeProvider } from "./harness/fake_provider.ts";
import { answerTo } from "./harness/answers.ts";
import { exportText, restore, snapshotOf } from "./harness/snapshots.ts";
import { openTestPurser, type TestPurser } from "./harness/test_purser.ts";
import { isInTurn } from "./harness/thorough.ts";

/*
 * Sessions with tool calls that nobody has answered, from snapshots, continue: providers refuse a call without exactly one
 * result right after it. The fake provider does the same.
 * https://platform.openai.com/docs/guides/function-calling: "An assistant message with 'tool_calls' must be followed by tool
 * messages responding to each 'tool_call_id'".
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use: tool results directly follow their uses.
 * https://ai.google.dev/gemini-api/docs/function-calling: as many function responses as calls. All read on 2026-11-26.
 */

// deno-lint-ignore no-explicit-any -- the body of any of four APIs
type Json = any;

/** One result as a provider has received it: the id of its call (of Gemini, the name), and its content as JSON. */
type Received = [call: string, content: string];

/** Checks the ids of calls as providers do: the sources are beside the rules in src/runner/call_ids.ts. */
function checkIds(ids: string[], pattern: RegExp): void {
  for (const id of ids) assert.match(id, pattern, `Invalid tool call id ${id}`);
}

/** Reads the calls and results of a request; throws if a provider would refuse it. */
const READERS: Record<ProviderRequest["api"], (body: Json) => Received[]> = {
  "openai-chat"({ messages }) {
    const calls = messages.flatMap(({ tool_calls = [] }: Json) => tool_calls);
    checkIds(calls.map(({ id }: Json) => id), /^.{1,40}$/s);
    return readPairs(
      messages,
      (message) => (message.tool_calls ?? []).map(({ id }: Json) => id),
      (message) => message.role === "tool" ? [[message.tool_call_id, JSON.stringify(message.content)]] : null,
      { resultsPerMessage: "one" },
    );
  },
  "openai-responses"({ input }) {
    const calls = input.filter(({ type }: Json) => type === "function_call");
    const results = input.filter(({ type }: Json) => type === "function_call_output");
    checkIds(calls.map(({ call_id }: Json) => call_id), /^.{1,64}$/s);
    const idsOf = (items: Json[]) => items.map(({ call_id }) => call_id).sort();
    assert.deepEqual(idsOf(results), idsOf(calls), "No tool output found for function call");
    input.forEach(({ type }: Json, at: number) => {
      if (type === "reasoning") {
        assert.ok(input[at + 1]?.type !== "message" || input[at + 1]?.role !== "user");
      }
    });
    return results.map(({ call_id, output }: Json): Received => [call_id, JSON.stringify(output)]);
  },
  "anthropic"({ messages }) {
    const calls = messages.flatMap(({ content }: Json) =>
      content.filter(({ type }: Json) => type === "tool_use")
    );
    const ids = calls.map(({ id }: Json) => id);
    checkIds(ids, /^[a-zA-Z0-9_-]+$/);
    assert.equal(new Set(ids).size, ids.length, "`tool_use` ids must be unique");
    return readPairs(
      messages,
      ({ content }) => content.filter(({ type }: Json) => type === "tool_use").map(({ id }: Json) => id),
      ({ content }) => {
        const results = content.filter(({ type }: Json) => type === "tool_result");
        return results.map((each: Json): Received => [each.tool_use_id, JSON.stringify(each.content)]);
      },
      { resultsPerMessage: "all" },
    );
  },
  "google"({ contents }) {
    return readPairs(
      contents,
      ({ parts }) => parts.flatMap(({ functionCall }: Json) => functionCall ? [functionCall.name] : []),
      ({ parts }) =>
        parts.flatMap(({ functionResponse: each }: Json): Received[] =>
          each ? [[each.name, JSON.stringify(each.response)]] : []
        ),
      { resultsPerMessage: "all" },
    );
  },
};

/** Checks that the results of the calls of each message are in the next one, or in the next ones. */
function readPairs(
  messages: Json[],
  callsOf: (message: Json) => string[],
  resultsOf: (message: Json) => Received[] | null,
  { resultsPerMessage }: { resultsPerMessage: "one" | "all" },
): Received[] {
  const received: Received[] = [];
  const open: string[] = [];
  for (const message of messages) {
    const results = resultsOf(message) ?? [];
    for (const [call] of results) {
      assert.ok(open.includes(call), `a result of ${call} is not right after its call`);
      open.splice(open.indexOf(call), 1);
    }
    received.push(...results);
    if (results.length === 0 || resultsPerMessage === "all") {
      assert.deepEqual(open, [], "calls without results");
    }
    open.push(...callsOf(message));
  }
  assert.deepEqual(open, [], "calls without results");
  return received;
}

/** Starts a provider that answers like a real one, with a 400 where a call has no result. */
async function startStrictProvider(): Promise<FakeProvider & { received: Received[][] }> {
  const received: Received[][] = [];
  const fake = await startFakeProvider((request) => {
    try {
      received.push(READERS[request.api](request.body));
    } catch (error) {
      return { status: 400, message: (error as Error).message };
    }
    return answerTo(request, { text: "Continued" });
  });
  return Object.assign(fake, { received });
}

const call = (toolCallId: string, more: Json = {}) => ({
  type: "tool-call",
  toolCallId,
  toolName: toolCallId,
  input: { expression: "1 + 1" },
  ...more,
});
const result = (toolCallId: string, value: string) => ({
  type: "tool-result",
  toolCallId,
  toolName: toolCallId,
  output: { type: "text", value },
});
const asks = (content: unknown) => ({ role: "user", content });
const answers = (...content: unknown[]) => ({ role: "assistant", content });
const returns = (...content: unknown[]) => ({ role: "tool", content });
const text = (value: string) => ({ type: "text", text: value });

const INTERRUPTED = /interrupted before this tool had returned/;

interface History {
  name: string;
  messages: unknown[];
  /** The results that the provider gets, each with a part of its content. */
  sent: [call: string, content: RegExp][];
}

const HISTORIES: History[] = [
  {
    name: "ends in a call",
    messages: [asks("a"), answers(text("I calculate"), call("one"))],
    sent: [["one", INTERRUPTED]],
  },
  {
    name: "ends in several calls",
    messages: [asks("a"), answers(call("one"), call("two"), call("three"))],
    sent: [["one", INTERRUPTED], ["two", INTERRUPTED], ["three", INTERRUPTED]],
  },
  {
    name: "ends in parallel calls of which one is answered",
    messages: [asks("a"), answers(call("one"), call("two")), returns(result("two", "2"))],
    sent: [["two", /2/], ["one", INTERRUPTED]],
  },
  {
    name: "has an open call in the middle",
    messages: [asks("a"), answers(call("one")), asks("b"), answers(text("c")), asks("d"), answers(text("e"))],
    sent: [["one", INTERRUPTED]],
  },
  {
    name: "has a result that comes after a message of the user",
    messages: [asks("a"), answers(call("one")), asks("b"), returns(result("one", "1")), answers(text("c"))],
    sent: [["one", /1/]],
  },
  {
    name: "has results in several messages",
    messages: [
      ...[asks("a"), answers(call("one"), call("two"), call("three"))],
      ...[returns(result("one", "1")), returns(result("three", "3")), answers(text("c"))],
    ],
    sent: [["one", /1/], ["three", /3/], ["two", INTERRUPTED]],
  },
  {
    name: "has two results of one call",
    messages: [
      asks("a"),
      answers(call("one")),
      returns(result("one", "1"), result("one", "2")),
      answers(text("c")),
    ],
    sent: [["one", /1/]],
  },
  {
    name: "repeats the id of an open call",
    messages: [asks("a"), answers(call("one")), asks("b"), answers(call("one")), returns(result("one", "1"))],
    sent: [["one", INTERRUPTED], ["one", /1/]],
  },
  {
    name: "ends in a call that waits for an approval",
    messages: [
      asks("a"),
      answers(call("one"), { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "one" }),
    ],
    sent: [["one", INTERRUPTED]],
  },
  {
    name: "ends in an approval",
    messages: [
      asks("a"),
      answers(call("one"), { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "one" }),
      returns({ type: "tool-approval-response", approvalId: "apr_1", approved: true }),
    ],
    sent: [["one", INTERRUPTED]],
  },
  {
    name: "ends in a refused approval",
    messages: [
      asks("a"),
      answers(call("one"), { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "one" }),
      returns({ type: "tool-approval-response", approvalId: "apr_1", approved: false, reason: "too dear" }),
    ],
    sent: [["one", /too dear/]],
  },
  {
    name: "ends in a call of the provider's own tool",
    messages: [
      asks("a"),
      answers({ type: "reasoning", text: "Search" }, call("srv", { providerExecuted: true })),
    ],
    sent: [],
  },
  {
    name: "ends in an approval of a call that the provider makes",
    messages: [
      asks("a"),
      answers(
        call("mcp", { providerExecuted: true }),
        { type: "tool-approval-request", approvalId: "apr_1", toolCallId: "mcp" },
      ),
      returns({
        type: "tool-approval-response",
        approvalId: "apr_1",
        approved: true,
        providerExecuted: true,
      }),
    ],
    sent: [],
  },
  {
    name: "has a result inside its answer",
    messages: [asks("a"), answers(call("one"), result("one", "1"), text("c"))],
    sent: [["one", /1/]],
  },
  {
    name: "ends in a part that a later version has made",
    messages: [asks("a"), answers(call("one")), returns({ type: "tool-result-2", toolCallId: "one" })],
    sent: [["one", INTERRUPTED]],
  },
  {
    name: "is complete",
    messages: [asks("a"), answers(call("one"), call("two")), returns(result("one", "1"), result("two", "2"))],
    sent: [["one", /1/], ["two", /2/]],
  },
];

const MODELS = {
  "OpenAI's Responses API": "openai:gpt-5-mini",
  "OpenAI's chat": "openai.chat:gpt-5-mini",
  Anthropic: "anthropic:claude-sonnet-4-5",
  Gemini: "google:gemini-2.5-flash",
  "a compatible server": "local:my-model",
};

for (const [provider, model] of Object.entries(MODELS)) {
  Deno.test(`a restored session whose calls have no results continues with ${provider}`, async (t) => {
    await using fake = await startStrictProvider();
    for (const [place, { name, messages, sent }] of HISTORIES.entries()) {
      // A compatible server has the wire of OpenAI's chat: the gate tries every fourth history of it.
      if (provider === "a compatible server" && !isInTurn(place, 4)) continue;
      await t.step(name, async () => {
        await using purser = await openTestPurser({ fake });
        const first = fake.received.length;
        const restored = await restoreOver(purser, messages);
        for (const input of ["Continue", "And again"]) {
          const run = await purser.run({ agentId: "agent", model }, input, { sessionId: "ses" });
          assert.deepEqual([run.status, run.output], ["completed", "Continued"]);
        }
        const requests = fake.received.slice(first);
        assert.equal(requests.length, 2);
        for (const received of requests) {
          // Anthropic takes an id only once.
          const isReplaced = (at: number) =>
            provider === "Anthropic" && sent.findIndex(([id]) => id === sent[at]![0]) < at;
          received.forEach(([id], at) =>
            isReplaced(at) ? assert.match(id, REPLACED) : assert.equal(id, sent[at]![0])
          );
          assert.equal(received.length, sent.length);
          received.forEach(([, content], at) => assert.match(content, sent[at]![1]));
        }
        const kept = JSON.parse(await exportText(purser.core, { sessionId: "ses" })).state.messages;
        assert.deepEqual(kept.slice(0, messages.length), restored, "the session keeps what was restored");
        assert.equal(kept.length, messages.length + 4);
      });
    }
  });
}

/** An id in place of one that the provider refuses. */
const REPLACED = /^call_[0-9a-f]{24}$/;

/** Ids of other providers, and for which of those here they are replaced. */
const FOREIGN: Record<string, RegExp> = {
  "functions.search:0": /^Anthropic$/, // Kimi's
  "call|one two/\u00fc": /^Anthropic$/,
  ["a".repeat(41)]: /chat|compatible/,
  ["b".repeat(65)]: /OpenAI|Anthropic|compatible/,
  "toolu_1": /^$/,
};

for (const [provider, model] of Object.entries(MODELS)) {
  Deno.test(`a session with ids of another provider's calls continues with ${provider}, by the same ids each time`, async () => {
    await using fake = await startStrictProvider();
    await using purser = await openTestPurser({ fake });
    const ids = Object.keys(FOREIGN);
    const called = (id: string) => call(id, { toolName: "search" });
    const returned = (id: string) => ({ ...result(id, id), toolName: "search" });
    await restoreOver(purser, [
      asks("a"),
      answers(...ids.map(called)),
      returns(...ids.map(returned)),
      ...[answers(text("b")), asks("c"), answers(called(ids[0]!)), returns(returned(ids[0]!))],
    ]);
    for (const input of ["Continue", "And again"]) {
      const run = await purser.run({ agentId: "agent", model }, input, { sessionId: "ses" });
      assert.deepEqual([run.status, run.output], ["completed", "Continued"]);
    }
    const [first, second] = fake.received;
    assert.deepEqual(first, second);
    if (provider === "Gemini") return; // it gets the names only
    first!.slice(0, ids.length).forEach(([sent, content], at) => {
      const id = ids[at]!;
      if (FOREIGN[id]!.test(provider)) assert.match(sent, REPLACED);
      else assert.equal(sent, id);
      assert.ok(content.includes(id), "it is the result of its call");
    });
  });
}

/** Restores a session in one environment, moves it to this one, and returns its messages. */
async function restoreOver({ core }: TestPurser, messages: unknown[]): Promise<unknown[]> {
  await using other = await openTestPurser({ config: { environment: "other" } });
  await restore(other.core, snapshotOf({}, { messages, status: "interrupted" }));
  const moved = await exportText(other.core, { sessionId: "ses" });
  await restore(core, moved);
  return JSON.parse(moved).state.messages;
}
