import type { CostRow } from "../../../contract/costs.ts";
import { DIMENSIONS, NAMED } from "../../../contract/costs/dimensions.ts";
import type { Pages } from "../../hooks/data.ts";
import { count } from "../../format/number.ts";
import { useAccess } from "../../hooks/session.ts";
import { Badge } from "../../parts/card.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id } from "../../parts/text.tsx";
import { callTimes, countColumn, planColumn, Share } from "../cells.tsx";
import { GroupLink, keyOf, nameOf, titleOf } from "./group.tsx";

/** The groups of a report as a table; shares are of `total`, which the server has summed. */
export function CostTable({ pages, rows, group, path, total }: {
  pages: Pages<CostRow>;
  rows: readonly CostRow[];
  group: string;
  path: string;
  total: number | null | undefined;
}) {
  const { timeZone } = useAccess().session.calendar;
  const title = titleOf(group);
  return (
    <Table
      caption={`Costs by ${title}`}
      columns={columnsOf(
        rows,
        group,
        title + (group === "day" || group === "hour" ? ` (${timeZone})` : ""),
        total,
      )}
      rows={rows}
      keyOf={(row) => keyOf(row, group)}
      source={{ path, name: `costs-by-${title.replaceAll(/\W+/g, "-")}` }}
      more={pages.more}
    />
  );
}

function columnsOf(
  rows: readonly CostRow[],
  group: string,
  title: string,
  total: number | null | undefined,
): Column<CostRow>[] {
  const share = ({ cost_usd }: CostRow) => cost_usd === null || !total ? null : cost_usd / total;
  return [
    {
      id: "name",
      title: title[0]!.toUpperCase() + title.slice(1),
      sortBy: (row) => nameOf(row, group),
      cell: (row) => (
        <>
          <GroupLink row={row} group={group} />
          {NAMED.filter((kind) => row[DIMENSIONS[kind].nameField] != null).map((kind) => (
            <div key={kind} class="sub">
              <Id>{row[DIMENSIONS[kind].field]!}</Id>
            </div>
          ))}
          {row.unpriced_calls > 0 && (
            <>
              {" "}
              <Badge tone="warning">{count(row.unpriced_calls)} without a price</Badge>
            </>
          )}
        </>
      ),
    },
    countColumn("calls", "Calls", ({ model_calls }) => model_calls),
    countColumn("tokens", "Tokens", ({ total_tokens }) => total_tokens),
    {
      id: "share",
      title: "Share",
      isNumber: true,
      sortBy: share,
      cell: (row) => <Share share={share(row)} />,
    },
    ...group === "session" || group === "run" ? [callTimes<CostRow>()] : [],
    ...planColumn(rows),
    {
      id: "cost_usd",
      title: "Cost",
      isMoney: true,
      sortBy: true,
      cell: (row) => (
        <GroupLink row={row} group={group}>
          <Money usd={row.cost_usd} />
        </GroupLink>
      ),
    },
  ];
}
