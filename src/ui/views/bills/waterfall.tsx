import type { Reconciliation } from "../../../contract/bills/reconciliations.ts";
import { hrefWith } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Difference } from "../costs/difference.tsx";

/** Returns the name of a cause or a part on the screen. */
export const spoken = (name: string) => name.replaceAll("_", " ");

interface Step extends Partial<Reconciliation["causes"][number]> {
  name: string;
  from: number;
  to: number;
}

/** The way from the ledger to the bill: a table whose rows draw what each cause adds. Its scale is that of the differences. */
export function Waterfall({ of: { ledger_usd, bill_usd, causes } }: { of: Reconciliation }) {
  let sum = ledger_usd;
  const steps: Step[] = [
    { name: "Ledger", from: ledger_usd, to: ledger_usd },
    ...causes.map((one) => ({ ...one, name: spoken(one.cause), from: sum, to: sum += one.amount_usd })),
    { name: "Bill", from: bill_usd, to: bill_usd },
  ];
  const all = steps.flatMap(({ from, to }) => [from, to]);
  const low = Math.min(...all);
  const scale = 98 / (Math.max(...all) - low || 1);
  const columns: Column<Step>[] = [
    {
      id: "cause",
      title: "Cause, and what to do",
      cell: ({ name, cause, advice }) =>
        cause
          ? (
            <>
              <Link href={hrefWith({ cause })}>{name}</Link>
              <div class="sub">{advice}</div>
            </>
          )
          : <b>{name}</b>,
    },
    {
      id: "drawn",
      title: "",
      cell: ({ cause, from, to }) => (
        <svg class="waterfall" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
          <rect
            class={cause === "unexplained" ? cause : !cause ? "total" : to < from ? "less" : "more"}
            x={(Math.min(from, to) - low) * scale}
            width={Math.max(2, Math.abs(to - from) * scale)}
            height="12"
          />
        </svg>
      ),
    },
    {
      id: "amount_usd",
      title: "Amount",
      isNumber: true,
      cell: ({ amount_usd, to }) =>
        amount_usd === undefined ? <Money usd={to} /> : <Difference usd={amount_usd} zero="nets to zero" />,
    },
  ];
  return (
    <Table
      caption="From the ledger to the bill"
      columns={columns}
      rows={steps}
      keyOf={({ name }) => name}
      source={{ name: "causes", rows: causes }}
    />
  );
}
