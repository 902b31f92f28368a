import assert from "node:assert/strict";
import { hostname } from "node:os";
import { inProcess } from "../harness/in_process.ts";
import { type AgentPlace, newAgentPlace } from "./agent_place.ts";

/** The answers of `purser gate` to each hook of each agent: recorded inputs, and for Gemini CLI and Copilot CLI those of their documents. */

interface Contract {
  agent: string;
  /** A recording of the agent, whose logs the inputs name. */
  logs: string;
  inputs: readonly Readonly<Record<string, unknown>>[];
  /** The calls of the session and of its sub-agents. */
  calls: number;
  /** The answer to each event that stops the agent, for a reason. */
  stops: Readonly<Record<string, (reason: string) => unknown>>;
}

const recorded = async (name: string) =>
  JSON.parse(await Deno.readTextFile(new URL(`../fixtures/hooks/${name}.json`, import.meta.url)));

const CHAT = ".gemini/tmp/project/chats/session-2026-11-26T11-51-a352ab42.jsonl";
const stopped = (stopReason: string) => ({ continue: false, stopReason });

const CONTRACTS: readonly Contract[] = [
  {
    agent: "claude-code",
    logs: "claude-code/10-hooks-statusline",
    inputs: await recorded("claude_code"),
    calls: 6,
    stops: {
      UserPromptSubmit: (reason) => ({ decision: "block", reason }),
      PostToolUse: stopped,
      PostToolBatch: stopped,
    },
  },
  {
    agent: "codex",
    logs: "codex/03-subagents",
    inputs: await recorded("codex"),
    calls: 5,
    stops: { UserPromptSubmit: (reason) => ({ decision: "block", reason }), SessionStart: stopped },
  },
  {
    agent: "gemini",
    logs: "gemini-cli/02-tools",
    inputs: ["SessionStart", "BeforeAgent", "BeforeModel", "AfterModel", "BeforeTool"].map((event) => ({
      session_id: "a352ab42-0000-4000-8000-000000000000",
      transcript_path: `/home/dev/${CHAT}`,
      cwd: "/home/dev/project",
      hook_event_name: event,
      timestamp: "2026-11-26T11:52:00.000Z",
    })),
    calls: 4,
    stops: { BeforeModel: (reason) => ({ decision: "deny", reason }) },
  },
  {
    agent: "copilot",
    logs: "codex/01-single",
    inputs: [{
      sessionId: "s-1",
      timestamp: 1_795_694_400_000,
      cwd: "/home/dev/project",
      toolName: "bash",
      toolArgs: "{}",
    }],
    calls: 0,
    stops: { permissionRequest: (message) => ({ behavior: "deny", message, interrupt: true }) },
  },
];

const REASON =
  /^Purser: the budget All is reached: \$[\d.]+ of \$0\.0001 per lifetime of all agents, \$[\d.]+ over\.\nTo go on now:\n {2}purser budgets raise All --usd [\d.]+ --db \/\S+$/;

/** The answers to all inputs, each as JSON. */
async function answersOf({ agent, inputs }: Contract, place: AgentPlace): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const input of inputs) {
    const text = JSON.stringify(input).replaceAll("/home/dev/", `${place.env.HOME}/`);
    const { code, out, err } = await inProcess(place, ["gate", "--agent", agent], text);
    assert.deepEqual([code, err], [0, ""], String(input.hook_event_name));
    answers.push(out === "" ? undefined : JSON.parse(out));
  }
  return answers;
}

for (const contract of CONTRACTS) {
  const { agent, logs, inputs, calls, stops } = contract;
  Deno.test(`the gate of ${agent} says nothing below the budget, and stops it above at the events that stop it`, async () => {
    await using place = await newAgentPlace(logs);
    await place.purser("budgets", "add", "--name", "All", "--limit", "100", "--per", "lifetime");
    assert.deepEqual(await answersOf(contract, place), inputs.map(() => undefined));

    const total = JSON.parse(await place.purser("cost", "--total", "--since", "all", "--json"));
    assert.equal(
      total.model_calls,
      calls,
      "each call of the session is booked once, and none of other sessions",
    );
    if (agent === "copilot") await place.purser("import", "codex");
    await place.purser("budgets", "set", "All", "--limit", "0.0001");
    const answers = await answersOf(contract, place);
    for (const [index, input] of inputs.entries()) {
      const event = (input.hook_event_name ?? "permissionRequest") as string;
      if (stops[event] === undefined) {
        assert.equal(answers[index], undefined, event);
        continue;
      }
      const [reason] = Object.values(answers[index] as object).filter((value) =>
        typeof value === "string" && value.startsWith("Purser")
      );
      assert.match(reason, REASON);
      assert.deepEqual(answers[index], stops[event](reason), event);
    }
  });
}

Deno.test("the gate opens the one ticket of a budget that asks, and the next prompt passes once it is approved", async () => {
  const { inputs, logs } = CONTRACTS[0]!;
  const input = JSON.stringify(inputs.find(({ hook_event_name }) => hook_event_name === "UserPromptSubmit"));
  await using place = await newAgentPlace(logs);
  const ask = async () => {
    const { code, out } = await inProcess(
      place,
      ["gate", "--agent", "claude-code"],
      input.replaceAll("/home/dev/", `${place.env.HOME}/`),
    );
    assert.equal(code, 0);
    return out === "" ? undefined : JSON.parse(out).reason as string;
  };
  const add = (name: string, ...options: string[]) =>
    place.purser("budgets", "add", "--name", name, "--limit", "0.0001", "--per", "lifetime", ...options);
  await add("Asks", "--action", "ask", "--mode", "strict");
  await add("Refuses");
  assert.doesNotMatch((await ask())!, /Ticket/, "a raise of the one that asks would not be enough");
  assert.deepEqual(JSON.parse(await place.purser("approvals", "list", "--json")), []);
  await place.purser("budgets", "remove", "Refuses");
  const reason = (await ask())!;
  assert.equal(await ask(), reason);
  const [ticket, ...others] = JSON.parse(await place.purser("approvals", "list", "--json"));
  assert.deepEqual([others, ticket.state, ticket.agent_id, ticket.cost_usd], [
    [],
    "waiting",
    "claude-code",
    0.00001,
  ]);
  assert.match(
    reason,
    new RegExp(`Ticket ${ticket.ticket_id} asks for more: waiting\\.\n.*\n {2}purser approvals approve`),
  );
  await place.purser("approvals", "approve", ticket.ticket_id, "--reason", "go on");
  assert.equal(await ask(), undefined);
});

Deno.test("budgets of the machine, the project and the source of the next call bind it, and those of others don't", async () => {
  const { inputs, logs } = CONTRACTS[0]!;
  const input = JSON.stringify(inputs.find(({ hook_event_name }) => hook_event_name === "UserPromptSubmit"));
  for (
    const [subject, binds] of [
      [["--tag", "project=project"], true],
      [["--tag", `machine=${hostname()}`], true],
      [["--source", "log"], true],
      [["--tag", "project=other"], false],
      [["--source", "gateway"], false],
    ] as const
  ) {
    await using place = await newAgentPlace(logs);
    await place.purser(
      "budgets",
      "add",
      "--name",
      "One",
      "--limit",
      "0.0001",
      "--per",
      "lifetime",
      ...subject,
    );
    const stdin = input.replaceAll("/home/dev/", `${place.env.HOME}/`);
    const { out } = await inProcess(place, ["gate", "--agent", "claude-code"], stdin);
    assert.equal(/the budget One is reached/.test(out), binds, subject.join(" "));
  }
});
