import type { BudgetCheck } from "../../../contract/budgets/budget_checks.ts";
import { describeScope } from "../../../contract/budgets/subjects.ts";
import type { CostRow } from "../../../contract/costs.ts";
import type { OwnView as Own } from "../../../contract/costs/own_view.ts";
import { Page } from "../../app/page.tsx";
import { exactUsd } from "../../format/money.ts";
import { plural } from "../../format/number.ts";
import { utc } from "../../format/time.ts";
import { useData } from "../../hooks/data.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Command } from "../../parts/command.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { limitColumns, type LimitRow } from "../budgets/limit_columns.tsx";
import { noAmount } from "../budgets/limit_cells.tsx";
import { limitOfCheck } from "../budgets/limit_of_budget.ts";
import { windowText } from "../budgets/periods.ts";
import { REFUSAL_COLUMNS } from "../budgets/refusals_page.tsx";
import { callTimes, countColumn, moneyColumn, SessionCell } from "../cells.tsx";

/** The spending of the key that is signed in, and its limits: nothing of other keys. */
export function OwnView() {
  // As often as the sign of a page without a stream says.
  const own = useData<Own>("/me", { refreshMs: 5_000 });
  return (
    <Page title="My spending" coverage={null}>
      <Loaded data={own}>{(value) => <Parts own={value} />}</Loaded>
    </Page>
  );
}

function Parts({ own: { key, time_zone, today, month, budgets, sessions, refusals } }: { own: Own }) {
  return (
    <>
      <Card title="Spent">
        <Stats>
          <Spent label={`Today (${time_zone})`} {...today} />
          <Spent label={`This month (${time_zone})`} {...month} />
        </Stats>
        <p class="facts">
          <span>
            Key <Text>{key.name}</Text>: {key.scopes.join(", ")}
          </span>
          {Object.entries(key.tags).map(([name, value]) => (
            <span key={name}>
              <Text>{`${name}=${value}`}</Text>
            </span>
          ))}
          {key.agent_id !== null && (
            <span>
              agent <Text>{key.agent_id}</Text> only
            </span>
          )}
          {key.models !== null && (
            <span>
              models <Text>{key.models.join(", ")}</Text>
            </span>
          )}
          <span>
            expires <Time at={key.expires_at} />
          </span>
        </p>
      </Card>
      <Card title="Budgets that the next call meets">
        {budgets.length === 0 ? <Empty title="No budget limits this key" /> : (
          <>
            <Table
              caption="Budgets"
              columns={BUDGETS}
              rows={budgets.map((of) => ({ of, limit: limitOfCheck(of) }))}
              keyOf={({ of }) => `${of.budget_id} ${of.scope}`}
              source={{ name: "my_budgets", rows: budgets }}
            />
            {budgets.filter(({ state }) => state !== "ok").map((check) => (
              <AskForMore key={`${check.budget_id} ${check.scope}`} {...check} />
            ))}
          </>
        )}
      </Card>
      <Card title="Newest sessions">
        {sessions.length === 0 ? <Empty title="No call has been made with this key" /> : (
          <Table
            caption="Sessions"
            columns={SESSIONS}
            rows={sessions}
            keyOf={({ session_id }) => session_id!}
            sortParam="sessions"
            source={{ name: "my_sessions", rows: sessions }}
          />
        )}
      </Card>
      <Card title="Newest refused calls">
        {refusals.length === 0 ? <Empty title="No call was refused" /> : (
          <Table
            caption="Refused calls"
            columns={REFUSAL_COLUMNS}
            rows={refusals}
            keyOf={({ event_id }) => String(event_id)}
            sortParam="refusals"
            source={{ name: "my_refusals", rows: refusals }}
          />
        )}
      </Card>
    </>
  );
}

function Spent({ label, cost_usd, model_calls }: Own["today"] & { label: string }) {
  return (
    <Stat label={label} note={plural(model_calls, "call")}>
      {model_calls === 0 ? "nothing" : <Money usd={cost_usd} />}
    </Stat>
  );
}

/** A message for an administrator about a budget that is near its limit, or reached: what is asked for, and by which key. */
function AskForMore(
  { name, per, spent_usd, limit_usd, extra_usd = 0, resets_at, time_zone, ...of }: BudgetCheck,
) {
  if (name === null) return null;
  const spent = spent_usd === undefined ? "" : `${exactUsd(spent_usd)} of `;
  const end = resets_at === null ? "" : ` It resets at ${utc(Date.parse(resets_at))}.`;
  return (
    <details class="as-command">
      <summary>
        Ask for more of <Text>{name}</Text>
      </summary>
      <Command label="The message">
        {`Please raise the budget “${name}” for ${describeScope(of)} (${
          windowText({ per, time_zone })
        }): ${spent}${exactUsd(limit_usd + extra_usd)} is spent.${end}`}
      </Command>
    </details>
  );
}

const BUDGETS: Column<LimitRow<BudgetCheck>>[] = [
  ...limitColumns<BudgetCheck>("Budget").filter(({ id }) => id !== "reaches_at"),
  {
    id: "left_usd",
    title: "Left",
    isMoney: true,
    sortBy: ({ of }) => of.left_usd,
    cell: ({ of, limit }) => <Money usd={of.left_usd} none={noAmount(limit)} />,
  },
];

const SESSIONS: Column<CostRow>[] = [
  {
    id: "session_id",
    title: "Session",
    sortBy: true,
    cell: ({ session_id = null }) => <SessionCell session_id={session_id} run_id={null} />,
  },
  countColumn("model_calls", "Calls", ({ model_calls }) => model_calls),
  moneyColumn("cost_usd", "Cost"),
  callTimes<CostRow>(),
];
