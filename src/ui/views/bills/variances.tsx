import type { ReconciliationVariance } from "../../../contract/bills/reconciliations.ts";
import { escapeText } from "../../../kernel/text.ts";
import { plural } from "../../format/number.ts";
import { usePages } from "../../hooks/data.ts";
import { apiPath, hrefWith, useRoute } from "../../hooks/route.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { Difference } from "../costs/difference.tsx";
import type { useKeyNames } from "./key_names.tsx";
import { spoken } from "./waterfall.tsx";

type Row = ReconciliationVariance;

/** The differences of a comparison, those of one cause with the URL's `cause`; each leads to its lines and its calls. */
export function Variances({ path, nameKey }: { path: string; nameKey: ReturnType<typeof useKeyNames> }) {
  const cause = useRoute().query.get("cause");
  const listed = apiPath(`${path}/variances`, { cause });
  const variances = usePages<Row>(listed);
  const columns: Column<Row>[] = [
    {
      id: "cause",
      title: "Cause",
      sortBy: true,
      cell: ({ cause, evidence }) => (
        <>
          {spoken(cause)}
          <div class="sub">
            <Text>{evidence}</Text>
          </div>
        </>
      ),
    },
    {
      id: "model",
      title: "Of",
      sortBy: true,
      cell: ({ model, part, credential, project, service_tier, region, speed, context }) => (
        <>
          <Text>{[model, part && spoken(part)].filter(Boolean).join(", ") || "all"}</Text>
          <div class="sub">
            <Text>{[project, service_tier, region, speed, context].filter(Boolean).join(", ")}</Text>
          </div>
          {credential !== null && <div class="sub">{nameKey(credential)}</div>}
        </>
      ),
    },
    {
      id: "from",
      title: "From",
      sortBy: true,
      cell: ({ from, to, cells }) => (
        <>
          <Time at={from} as="utc" />
          <div class="sub">
            to <Time at={to} as="utc" />, {plural(cells, "bucket")}
          </div>
        </>
      ),
    },
    { id: "quantity", title: "Quantity", isNumber: true, cell: ({ quantity }) => quantity },
    {
      id: "amount_usd",
      title: "Amount",
      isMoney: true,
      sortBy: true,
      cell: ({ amount_usd, level }) => (
        <>
          <Difference usd={amount_usd} zero="none" />
          <div class="sub">by {level === "cell" ? "minute" : level}</div>
        </>
      ),
    },
    {
      id: "leads",
      title: "",
      cell: ({ lines, calls }) => (
        <span class="actions">
          <Link href={`/ui${lines}`}>lines</Link>
          <Link href={`/ui${calls.replace("group_by", "by")}`}>calls</Link>
        </span>
      ),
    },
  ];
  return (
    <Card
      title={escapeText(cause ? `Differences: ${spoken(cause)}` : "Differences")}
      aside={cause && <Link href={hrefWith({ cause: undefined })}>All causes</Link>}
    >
      <Loaded data={variances} empty={<Empty title="None" />}>
        {(rows) => (
          <Table
            caption="Differences"
            columns={columns}
            rows={rows}
            keyOf={(row) => JSON.stringify(row)}
            source={{ path: listed, name: "differences" }}
            more={variances.more}
          />
        )}
      </Loaded>
    </Card>
  );
}
