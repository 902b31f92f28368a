import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetRefusal, RefusedBy } from "../../../contract/budgets/budget_refusals.ts";
import { apiPath, useRoute } from "../../hooks/route.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { Card } from "../../parts/card.tsx";
import { Select } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { useLive } from "../../live/live.tsx";
import { AgentCell, moneyColumn, NamedValues, SessionCell } from "../cells.tsx";
import { budgetsHref } from "../links.ts";
import { PERIODS } from "./periods.ts";
import { REASONS } from "./refusal_reasons.ts";
import { SectionPage } from "./section_page.tsx";

export const REFUSAL_COLUMNS: Column<BudgetRefusal>[] = [
  { id: "at", title: "Time", sortBy: ({ event_id }) => event_id, cell: ({ at }) => <Time at={at} /> },
  {
    id: "agent_id",
    title: "Agent",
    sortBy: true,
    cell: (refusal) => (
      <>
        <AgentCell {...refusal} />
        <NamedValues {...refusal} />
      </>
    ),
  },
  {
    id: "session_id",
    title: "Session",
    sortBy: true,
    cell: (refusal) => <SessionCell {...refusal} />,
  },
  { id: "refused_by", title: "Refused by", cell: (refusal) => <Reasons refusal={refusal} /> },
  moneyColumn("cost_usd_so_far", "Spent", { none: "unknown" }),
  moneyColumn("budget_usd", "Limit", { none: "unknown" }),
];

/** The budgets that refused a call, each with its reason; the sentence of the refusal is below. */
function Reasons(
  { refusal: { refused_by, reason, message, provider, model, nearest_model } }: { refusal: BudgetRefusal },
) {
  return (
    <>
      {refused_by.length === 0 && (
        <>
          the run's own budget
          {reason !== null && <span class="muted">: {REASONS[reason]}</span>}
        </>
      )}
      {refused_by.map((by, index) => (
        <div key={by.budget_id ?? index}>
          <Reason by={by} />
        </div>
      ))}
      {model !== null && (
        <div class="sub">
          model <Text>{[provider, model].filter(Boolean).join(":")}</Text>
          {nearest_model !== null && (
            <>
              ; the nearest with a price is <Text>{nearest_model}</Text>
            </>
          )}
        </div>
      )}
      <details class="message">
        <summary>Message</summary>
        <p>
          <Text>{message}</Text>
        </p>
      </details>
    </>
  );
}

function Reason({ by }: { by: RefusedBy }) {
  const { budget_id, name, per, reason, needed_usd, reserved_usd } = by;
  return (
    <>
      {budget_id === null ? <>the agent's own budget</> : (
        <Link href={budgetsHref(budget_id)}>
          <Text>{name ?? budget_id}</Text>
        </Link>
      )}
      <span class="muted">
        , {PERIODS[per].replace(/UTC | \(UTC\)/, "")}: {REASONS[reason]}
        {needed_usd !== undefined && (
          <>
            , by a call of up to <Money usd={needed_usd} />
          </>
        )}
        {reserved_usd !== undefined && reserved_usd > 0 && (
          <>
            , <Money usd={reserved_usd} /> reserved
          </>
        )}
      </span>
    </>
  );
}

/** The calls that budgets refused, newest first. */
export function RefusalsPage() {
  const { query } = useRoute();
  const { state } = useLive();
  const path = apiPath("/budgets/refusals", {
    budget_id: query.get("budget_id") ?? undefined,
    agent_id: query.get("agent_id") ?? undefined,
  });
  const refusals = usePages<BudgetRefusal>(path, { refreshMs: 10_000 });
  const budgets = useData<Budget[]>("/budgets");
  const agents = [
    ...new Set([
      ...state?.agents.map(({ agent_id }) => agent_id) ?? [],
      ...refusals.value?.map(({ agent_id }) => agent_id) ?? [],
    ]),
  ].toSorted();
  return (
    <SectionPage
      title="Budgets & alerts"
      filters={
        <>
          <Select
            name="budget_id"
            label="Budget"
            all="All budgets"
            choices={budgets.value?.map(({ budget_id, name }) => ({ value: budget_id, label: name })) ?? []}
          />
          <Select
            name="agent_id"
            label="Agent"
            all="All agents"
            choices={agents.map((agent) => ({ value: agent, label: agent }))}
          />
        </>
      }
    >
      <Card title="Calls that were refused">
        <Loaded
          data={refusals}
          empty={
            <Empty
              title="No call was refused"
              command="purser budgets add --name Trial --limit 10 --per day --action watch"
            >
              A budget with the action watch shows the calls that it would refuse, and lets them pass.
            </Empty>
          }
        >
          {(rows) => (
            <Table
              caption="Refused calls"
              columns={REFUSAL_COLUMNS}
              rows={rows}
              keyOf={({ event_id }) => String(event_id)}
              source={{ path, name: "refusals" }}
              more={refusals.more}
            />
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}
