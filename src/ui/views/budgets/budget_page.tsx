import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetRaise } from "../../../contract/budgets/budget_raises.ts";
import type { BudgetRefusal } from "../../../contract/budgets/budget_refusals.ts";
import { escapeText } from "../../../kernel/text.ts";
import { percent } from "../../format/number.ts";
import { usePages } from "../../hooks/data.ts";
import { useData } from "../../hooks/data.ts";
import { apiPath } from "../../hooks/route.ts";
import { Badge, Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { moneyColumn, None, timeColumn } from "../cells.tsx";
import { budgetsHref } from "../links.ts";
import { EditButton, EnableButton, RemoveButton } from "../../forms/resource_buttons.tsx";
import { BUDGET } from "../../forms/resources.ts";
import { navigate } from "../../hooks/route.ts";
import { RaiseButton, refusalsHref } from "./budget_actions.tsx";
import { CounterLink, Counters, hasCounters, mostOf } from "./counters.tsx";
import { limitOfBudget } from "./limit_of_budget.ts";
import { LimitMeter, LimitState, noAmount, ReachedAt, ResetsAt, UnknownNote } from "./limit_cells.tsx";
import { REFUSAL_COLUMNS } from "./refusals_page.tsx";
import { ChangesLink } from "../keys/audit.tsx";
import { SectionPage } from "./section_page.tsx";

/** One budget: its present state, its raises, and the calls that it refused. */
export function BudgetPage({ budgetId }: { budgetId: string }) {
  const path = `/budgets/${encodeURIComponent(budgetId)}`;
  const budget = useData<Budget>(path, { refreshMs: 10_000 });
  const raises = usePages<BudgetRaise>(`${path}/raises`);
  const refusalsPath = apiPath("/budgets/refusals", { budget_id: budgetId, limit: 10 });
  const refusals = useData<BudgetRefusal[]>(refusalsPath, { refreshMs: 10_000 });
  if (budget.error?.status === 404 && !budget.value) {
    return (
      <SectionPage title="Budget">
        <Empty title="No budget has this address" command="purser budgets list">
          It may have been deleted: <Link href={budgetsHref()}>see all limits</Link>
        </Empty>
      </SectionPage>
    );
  }
  return (
    <SectionPage title={budget.value ? `Budget: ${escapeText(budget.value.name)}` : "Budget"}>
      <Loaded data={budget}>{(value) => <StateCard budget={value} />}</Loaded>
      {budget.value && hasCounters(budget.value) && <Counters budget={budget.value} />}
      <Card title="Raises">
        <Loaded
          data={raises}
          empty={
            <Empty
              title="Its limit was never raised"
              command={`purser budgets raise ${budgetId} --usd 20 --for 24h --reason "Release"`}
            />
          }
        >
          {(rows) => (
            <Table
              caption="Raises"
              columns={RAISE_COLUMNS}
              rows={rows}
              keyOf={({ raise_id }) => raise_id}
              source={{ path: `${path}/raises`, name: "raises" }}
              more={raises.more}
              sortParam="raises"
            />
          )}
        </Loaded>
      </Card>
      <Card title="Latest refusals" aside={<Link href={refusalsHref(budgetId)}>All refusals</Link>}>
        <Loaded
          data={refusals}
          empty={<Empty title="No call was refused" />}
        >
          {(rows) => (
            <Table
              caption="Refused calls"
              columns={REFUSAL_COLUMNS}
              rows={rows}
              keyOf={({ event_id }) => String(event_id)}
              source={{ path: refusalsPath, name: "refusals" }}
            />
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}

function StateCard({ budget }: { budget: Budget }) {
  const limit = limitOfBudget(budget);
  const { counter } = budget;
  const isStrict = budget.mode === "strict";
  return (
    <Card
      title="State"
      aside={
        <>
          <RaiseButton budget={budget} />
          <EditButton resource={BUDGET} of={budget} />
          <EnableButton resource={BUDGET} of={budget} />
          <RemoveButton resource={BUDGET} of={budget} onRemoved={() => navigate(budgetsHref())} />
        </>
      }
    >
      <Stats>
        <Stat
          label="Spent"
          note={counter
            ? (
              <>
                {mostOf(counter)}, by <CounterLink counter={counter} names={budget} />
                {counter.kind === "run" && " and the runs below it"}
              </>
            )
            : <Text>{limit.scope}</Text>}
        >
          <Link href={limit.spentHref}>
            <Money usd={budget.spent_usd} none={noAmount(limit)} />
          </Link>
        </Stat>
        <Stat
          label="Left"
          note={(budget.reserved_usd ?? 0) > 0 && (
            <>
              <Money usd={budget.reserved_usd} /> reserved
            </>
          )}
        >
          <Money usd={budget.left_usd} none={noAmount(limit)} />
        </Stat>
        <Stat label="Reached">
          <ReachedAt limit={limit} />
        </Stat>
        <Stat label="Resets" note={limit.period}>
          <ResetsAt limit={limit} />
        </Stat>
      </Stats>
      <LimitMeter limit={limit} marks={budget.warn_at} />
      <UnknownNote unknown={budget.unknown} />
      <p class="facts">
        <span>
          <LimitState limit={limit} />{" "}
          {budget.action === "watch" && <Badge tone="accent">Watches, refuses nothing</Badge>}
        </span>
        {limit.stops && (
          <span>{isStrict ? "Strict: no call that could exceed it" : "Stops calls once it is reached"}</span>
        )}
        <span>
          {budget.warn_at.length === 0 ? "Warns never" : `Warns at ${budget.warn_at.map(percent).join(", ")}`}
          {": "}
          <Link href={budgetsHref("alerts") + `?rule_id=${budget.budget_id}`}>its alerts</Link>
        </span>
        <ChangesLink of={budget.budget_id} />
      </p>
    </Card>
  );
}

const RAISE_COLUMNS: Column<BudgetRaise>[] = [
  timeColumn("created_at", "Raised"),
  moneyColumn("extra_usd", "By"),
  {
    id: "counter",
    title: "For",
    cell: ({ counter }) => counter ? <CounterLink counter={counter} names={{}} /> : "all",
  },
  {
    id: "until",
    title: "Until",
    sortBy: ({ until }) => until ?? "~",
    cell: ({ until }) => until === null ? "no end" : <Time at={until} as="utc" />,
  },
  {
    id: "reason",
    title: "Reason",
    cell: ({ reason }) => reason === null ? <None /> : <Text>{reason}</Text>,
  },
  {
    id: "key_id",
    title: "Key",
    sortBy: ({ key_id, key_name }) => key_name ?? key_id,
    cell: ({ key_id, key_name }) =>
      key_id === null ? <None /> : key_name == null ? <Id>{key_id}</Id> : <Text>{key_name}</Text>,
  },
];
