import type { Budget } from "../../../contract/budgets/budgets.ts";
import type { BudgetCounter, BudgetCounterState } from "../../../contract/budgets/budget_state.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import {
  type Dimension,
  DIMENSIONS,
  type NameFields,
  nameOfValue,
} from "../../../contract/costs/dimensions.ts";
import { usePages } from "../../hooks/data.ts";
import { apiPath } from "../../hooks/route.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { costsHref, runsHref, sessionHref } from "../links.ts";
import { RaiseButton } from "./budget_actions.tsx";
import type { Limit } from "./limit.ts";
import { LimitMeter, LimitState } from "./limit_cells.tsx";
import { limitOfBudget } from "./limit_of_budget.ts";

/** Returns whether a budget counts each agent, session, tree, key or run by itself. */
export function hasCounters({ each, per, session_id }: Budget): boolean {
  return each !== null || per === "run" || ((per === "session" || per === "tree") && session_id === null);
}

/** A counter with its kind, `key laptop` or `tag user=anna`, and a link; `names` has the names of keys. */
export function CounterLink({ counter, names }: { counter: BudgetCounter; names: NameFields }) {
  const { kind, id, session_id } = counter;
  const href = kind === "session" || kind === "tree"
    ? sessionHref(id)
    : kind === "run"
    ? runsHref(session_id)
    : kind.startsWith("tag:")
    ? costsHref({ tag: `${kind.slice("tag:".length)}:${id}` })
    : kind in DIMENSIONS
    ? costsHref({ [DIMENSIONS[kind as Dimension].field]: id })
    : undefined;
  const [word, ...rest] = counterText(counter, names).split(" ");
  const name = rest.join(" ");
  return (
    <>
      {word} <Link href={href}>{name === id && kind !== "agent" ? <Id>{id}</Id> : <Text>{name}</Text>}</Link>
    </>
  );
}

/** Says which one of the counters a budget shows: of runs and sessions, only the latest are compared for it. */
export function mostOf({ kind }: BudgetCounter): string {
  return kind === "run" || kind === "session" ? "the most of the latest" : "the most";
}

/** All counters of a budget: what each of them has spent, and what is left. */
export function Counters({ budget }: { budget: Budget }) {
  const path = apiPath(`/budgets/${encodeURIComponent(budget.budget_id)}/counters`, { limit: 100 });
  const counters = usePages<BudgetCounterState>(path, { refreshMs: 10_000 });
  return (
    <Card title="Counters">
      <Loaded
        data={counters}
        empty={<Empty title="No call counts yet" />}
      >
        {(rows) => (
          <Table
            caption="Counters of the budget"
            columns={[...COLUMNS, {
              id: "raise",
              title: "",
              cell: ({ of }) => <RaiseButton budget={budget} counter={of} />,
            }]}
            rows={rows.map((of) => ({ of, limit: limitOfCounter(budget, of) }))}
            keyOf={({ of }) => `${of.kind} ${of.id}`}
            source={{ path, name: "counters" }}
            more={counters.more}
            sortParam="counters"
          />
        )}
      </Loaded>
    </Card>
  );
}

interface CounterRow {
  of: BudgetCounterState;
  limit: Limit;
}

/** Returns a counter as a limit of its own. */
function limitOfCounter(budget: Budget, counter: BudgetCounterState): Limit {
  return limitOfBudget({ ...budget, ...counter, counter, reaches_at: null, usd_per_hour: null });
}

const COLUMNS: Column<CounterRow>[] = [
  {
    id: "who",
    title: "Who",
    sortBy: ({ of }) => nameOfValue(of, of).toLowerCase(),
    cell: ({ of, limit }) => (
      <>
        <CounterLink counter={of} names={of} /> <LimitState limit={limit} />
      </>
    ),
  },
  {
    id: "share",
    title: "Used",
    sortBy: ({ limit }) => limit.share,
    cell: ({ limit }) => <LimitMeter limit={limit} />,
  },
  {
    id: "left_usd",
    title: "Left",
    isMoney: true,
    sortBy: ({ of }) => of.left_usd,
    cell: ({ of }) => <Money usd={of.left_usd} none="unknown" />,
  },
];
