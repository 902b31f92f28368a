import type { SessionTree, TreeAgent } from "../../../contract/costs/session_trees.ts";
import { plural } from "../../format/number.ts";
import { useData } from "../../hooks/data.ts";
import { Card } from "../../parts/card.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { countColumn, SessionCell } from "../cells.tsx";

/** The sub-agents of a session with their costs, and the session above a sub-agent's own; nothing for a session without either. */
export function SubAgents({ sessionId }: { sessionId: string }) {
  const path = `/sessions/${encodeURIComponent(sessionId)}/tree`;
  const tree = useData<SessionTree>(path, { refreshMs: 30_000 }).value;
  const isRoot = tree?.root_session_id === sessionId;
  if (!tree || (isRoot && tree.agents.length < 2)) return null;
  return (
    <Card
      title="Sub-agents"
      aside={!isRoot && (
        <>
          part of <SessionCell session_id={tree.root_session_id} run_id={null} />
        </>
      )}
    >
      <Table
        caption="Sub-agents"
        columns={COLUMNS}
        rows={tree.agents}
        keyOf={({ session_id, subagent }) => `${session_id} ${subagent}`}
        source={{ path, name: "sub-agents" }}
        foot={tree.more_agents > 0 ? `${plural(tree.more_agents, "other sub-agent")} cost less` : undefined}
      />
    </Card>
  );
}

const costColumn = (
  id: string,
  title: string,
  costOf: (agent: TreeAgent) => number | null,
): Column<TreeAgent> => ({
  ...{ id, title, isMoney: true },
  cell: (agent) => <Money usd={costOf(agent)} />,
});

const COLUMNS: Column<TreeAgent>[] = [
  {
    id: "agent",
    title: "Agent",
    cell: ({ depth, session_id, agent_id, subagent, type }) => (
      <>
        {"\u2003".repeat(depth)}
        <Text>{[depth === 0 ? "main agent" : type ?? agent_id, subagent].filter(Boolean).join(" ")}</Text>
        {depth > 0 && subagent === null && (
          <>
            {" "}
            <SessionCell session_id={session_id} run_id={null} />
          </>
        )}
      </>
    ),
  },
  countColumn("calls", "Calls", ({ model_calls }) => model_calls),
  costColumn("cost", "Cost", ({ cost_usd }) => cost_usd),
  costColumn("all", "With sub-agents", ({ with_subagents }) => with_subagents.cost_usd),
];
