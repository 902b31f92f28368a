import type { BillPeriod } from "../../../contract/bills/reconciliations.ts";
import { Page } from "../../app/page.tsx";
import { useData } from "../../hooks/data.ts";
import { uiPath, useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { Badge, Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { moneyColumn } from "../cells.tsx";
import { Difference } from "../costs/difference.tsx";
import { LinesPage } from "./lines_page.tsx";
import { MonthButtons } from "./month_buttons.tsx";
import { ReconciliationPage } from "./reconciliation_page.tsx";
import { StateBadge } from "./state_badge.tsx";

/** The months of providers' bills; `/ui/bills/{reconciliation_id}` is a comparison, and `/ui/bills/lines` has lines. */
export function BillsView() {
  const { parts: [, id] } = useRoute();
  if (!useAccess().may("admin")) {
    return (
      <Page title="Bills" coverage={null}>
        <Empty title="Bills are shown to keys with the scope admin">
          A bill is of all agents and keys of an account, of which this key sees its own part alone: see
          Costs.
        </Empty>
      </Page>
    );
  }
  if (id === "lines") return <LinesPage />;
  return id === undefined ? <Months /> : <ReconciliationPage key={id} id={id} />;
}

function Months() {
  const path = "/bills/periods?limit=500";
  const periods = useData<BillPeriod[]>(path);
  return (
    <Page title="Bills" coverage={null}>
      <Card title="Bills by month">
        <Loaded data={periods} empty={NONE}>
          {(rows) => (
            <Table
              caption="Months of bills"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ source, account, month }) => JSON.stringify([source, account, month])}
              source={{ path, name: "bills" }}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

const NONE = (
  <Empty title="No bill yet" command="purser bills import anthropic --month last-month">
    Import what a provider bills, from its API or a file; purser bills sources lists them.
  </Empty>
);

/** Shown where a month has no comparison yet. */
const NOT_YET = "not compared";

const COLUMNS: Column<BillPeriod>[] = [
  {
    id: "month",
    title: "Bill",
    sortBy: true,
    cell: ({ source, account, month, reconciliation_id }) => (
      <>
        <Link href={reconciliation_id === null ? undefined : uiPath("bills", reconciliation_id)}>
          {source} {month}
        </Link>
        {account !== null && (
          <div class="sub">
            <Text>{account}</Text>
          </div>
        )}
      </>
    ),
  },
  {
    id: "state",
    title: "State",
    sortBy: true,
    cell: ({ state, changed_by, reason, corrections }) => (
      <>
        <StateBadge state={state} />
        {changed_by !== null && (
          <div class="sub">
            by <Text>{changed_by}</Text>
            {reason !== null && <Text>{`: ${reason}`}</Text>}
          </div>
        )}
        {corrections.map(({ month, bill_usd, ledger_usd }) => (
          <div key={month} class="sub">
            of {month}: bill <Difference usd={bill_usd} zero="same" />, ledger{" "}
            <Difference usd={ledger_usd} zero="same" />
          </div>
        ))}
      </>
    ),
  },
  moneyColumn("bill_usd", "Billed", { none: NOT_YET }),
  moneyColumn("ledger_usd", "Ledger", { none: NOT_YET }),
  {
    ...moneyColumn<BillPeriod>("difference_usd", "Difference"),
    cell: ({ difference_usd: usd }) =>
      usd === null ? <Money usd={usd} none={NOT_YET} /> : <Difference usd={usd} zero="none" />,
  },
  {
    ...moneyColumn<BillPeriod>("unexplained_usd", "Unexplained"),
    cell: ({ unexplained_usd, is_within_limit }) => (
      <>
        <Money usd={unexplained_usd} none={NOT_YET} />
        {is_within_limit === false && (
          <div class="sub">
            <Badge tone="bad">over its limit</Badge>
          </div>
        )}
      </>
    ),
  },
  {
    id: "final_on",
    title: "Final on",
    isNumber: true,
    sortBy: true,
    cell: ({ final_on }) => final_on ?? <span class="muted">{NOT_YET}</span>,
  },
  { id: "actions", title: "", cell: (row) => <MonthButtons of={row} /> },
];
