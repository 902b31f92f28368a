import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { Budget } from "../../../contract/budgets/budgets.ts";
import { plural } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { ADD_BUDGET, ADD_RULE } from "../commands.ts";
import { limitHref } from "../links.ts";
import { AddButton, EnableButton } from "../../forms/resource_buttons.tsx";
import { BUDGET, RULE } from "../../forms/resources.ts";
import { TestRuleButton } from "./rule_actions.tsx";
import { RaiseButton, refusalsHref } from "./budget_actions.tsx";
import { CounterLink, hasCounters, mostOf } from "./counters.tsx";
import { noAmount, UnknownNote } from "./limit_cells.tsx";
import { limitOfBudget } from "./limit_of_budget.ts";
import { isOfSpending, limitOfRule, namePlainRule } from "./limit_of_rule.ts";
import { limitColumns, type LimitRow } from "./limit_columns.tsx";
import { NextStop } from "./next_stop.tsx";
import { SectionPage } from "./section_page.tsx";

const BUDGETS = "/budgets";
const RULES = "/alerts/rules";

const BUDGET_COLUMNS: Column<LimitRow<Budget>>[] = [
  ...limitColumns<Budget>("Budget", undefined, ({ of }) => (
    <>
      {hasCounters(of) && of.counter && (
        <div class="sub">
          {mostOf(of.counter)}: <CounterLink counter={of.counter} names={of} />,{" "}
          <Link href={limitHref(of.budget_id)}>all counters</Link>
        </div>
      )}
      <UnknownNote unknown={of.unknown} />
    </>
  )),
  {
    id: "left_usd",
    title: "Left",
    isMoney: true,
    sortBy: ({ of }) => of.left_usd,
    cell: ({ of, limit }) => <Money usd={of.left_usd} none={noAmount(limit)} />,
  },
  {
    id: "refused_calls",
    title: "Refused",
    isNumber: true,
    sortBy: ({ of }) => of.refused_calls,
    cell: ({ of }) =>
      of.refused_calls === undefined
        ? null
        : of.refused_calls === 0
        ? <span class="muted">0</span>
        : of.action === "watch"
        ? (
          <>
            {plural(of.refused_calls, "call")}
            <div class="sub">let&nbsp;through</div>
          </>
        )
        : <Link href={refusalsHref(of.budget_id)}>{plural(of.refused_calls, "call")}</Link>,
  },
  {
    id: "actions",
    title: "",
    cell: ({ of }) => (
      <span class="actions">
        <RaiseButton budget={of} />
      </span>
    ),
  },
];

const RULE_COLUMNS: Column<LimitRow<AlertRule>>[] = [
  ...limitColumns<AlertRule>(
    "Rule",
    ({ of }) => of.severity,
    ({ of }) => <UnknownNote unknown={of.unknown} />,
  ),
  {
    id: "last_fired_at",
    title: "Last fired",
    sortBy: ({ of }) => of.last_fired_at,
    cell: ({ of }) => <Time at={of.last_fired_at} />,
  },
  {
    id: "actions",
    title: "",
    cell: ({ of }) => (
      <span class="actions">
        <TestRuleButton rule={of} />
        <EnableButton resource={RULE} of={of} />
      </span>
    ),
  },
];

/** All budgets and rules by their share: how close each one is, and when it is reached. */
export function LimitsPage() {
  const now = useNow();
  const budgets = usePages<Budget>(BUDGETS, { refreshMs: 10_000 });
  const rules = useData<AlertRule[]>(RULES, { refreshMs: 10_000 });
  const budgetRows = budgets.value?.map((of) => ({ of, limit: limitOfBudget(of) })) ?? [];
  const ruleRows = rules.value?.filter(isOfSpending).map((of) => ({ of, limit: limitOfRule(of, now) })) ?? [];
  return (
    <SectionPage title="Budgets & alerts">
      <NextStop limits={[...budgetRows, ...ruleRows].map(({ limit }) => limit)} />
      <Card
        title="Budgets"
        aside={
          <AddButton
            resource={BUDGET}
            explanation="A call is refused once a budget that counts it has reached its limit. Earlier spending counts."
          />
        }
      >
        <Loaded
          data={budgets}
          empty={
            <Empty title="No budget yet" command={ADD_BUDGET}>
              A budget refuses model calls once its limit is reached, over all agents and processes.
            </Empty>
          }
        >
          {() => (
            <Table
              caption="Budgets"
              columns={BUDGET_COLUMNS}
              rows={budgetRows}
              keyOf={({ of }) => of.budget_id}
              source={{ path: BUDGETS, name: "budgets" }}
              more={budgets.more}
              defaultSort="-share"
            />
          )}
        </Loaded>
      </Card>
      <Card
        title="Alert rules"
        aside={<AddButton resource={RULE} explanation="A rule notifies the channels, and refuses nothing." />}
      >
        <Loaded
          data={rules}
          empty={
            <Empty
              title="No alert rule yet"
              command={ADD_RULE}
            >
              A rule notifies your channels once spending reaches its threshold. It stops nothing.
            </Empty>
          }
        >
          {(all) => (
            <>
              <Table
                caption="Alert rules"
                columns={RULE_COLUMNS}
                rows={ruleRows}
                keyOf={({ of }) => of.rule_id}
                source={{ path: RULES, name: "rules" }}
                defaultSort="-share"
                sortParam="rules"
              />
              <PlanRules rules={all.filter((rule) => !isOfSpending(rule))} />
            </>
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}

/** Names the rules about plans and bills, which are no limits of spending. */
function PlanRules({ rules }: { rules: readonly AlertRule[] }) {
  if (rules.length === 0) return null;
  return (
    <p class="facts">
      {rules.map((rule) => (
        <span key={rule.rule_id}>
          {namePlainRule(rule)}:{" "}
          <Link href={limitHref(rule.rule_id)}>
            <Text>{rule.name}</Text>
          </Link>
        </span>
      ))}
    </p>
  );
}
