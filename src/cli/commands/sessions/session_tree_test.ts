import assert from "node:assert/strict";
import type { TreeAgent } from "../../../contract/costs/session_trees.ts";
import { createStyle } from "../../terminal/style.ts";
import { renderTree } from "./session_tree.ts";

const agent = (depth: number, cost_usd: number | null, more: Partial<TreeAgent> = {}): TreeAgent => ({
  ...{ depth, session_id: "ses_1", agent_id: "boss", subagent: null, type: null },
  ...{
    model_calls: 1,
    total_tokens: 10,
    cost_usd,
    with_subagents: { model_calls: 1, total_tokens: 10, cost_usd },
  },
  ...more,
});
const layout = { columns: 120, hasUnicode: true, style: createStyle(false) };
const render = (agents: TreeAgent[], more: object = {}) =>
  renderTree(
    { session_id: "ses_1", root_session_id: "ses_1", agents, more_agents: 0, ...more },
    { layout },
  ).split("\n").map((line) => line.replace(/ {2,}/g, "  "));

Deno.test("a tree has lines between agents, and names those with sessions of their own by these", () => {
  const lines = render([
    agent(0, 1),
    agent(1, 2, { subagent: "a1", type: "explore" }),
    agent(2, null, { subagent: "a2" }),
    agent(1, 4, { agent_id: "ann", session_id: "ses_2" }),
  ]);
  assert.deepEqual(lines.slice(1).map((line) => line.split("  ")[0]), [
    "main agent",
    "├ explore a1",
    "│ └ sub-agent a2",
    "└ ann ses_2",
  ]);
  assert.match(lines[3]!, /no price/);
});

Deno.test("the tree of a sub-agent's session names its root, and agents that are left out are counted", () => {
  assert.deepEqual(render([agent(0, 1)], { root_session_id: "ses_0", more_agents: 1_200 }).slice(2), [
    "1,200 other sub-agents have cost less.",
    "This session is a part of the tree of ses_0: purser sessions show ses_0 --tree",
  ]);
});
