import type { BillLine } from "../../../contract/imports/bills.ts";
import { escapeText } from "../../../kernel/text.ts";
import { Page } from "../../app/page.tsx";
import { usePages } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { textColumn, timeColumn } from "../cells.tsx";
import { useKeyNames } from "./key_names.tsx";

/** The lines of a bill, `/ui/bills/lines`, with the filters of `GET /bills/lines`. */
export function LinesPage() {
  const { query } = useRoute();
  const nameKey = useKeyNames();
  const path = `/bills/lines?${query}`;
  const lines = usePages<BillLine>(path);
  const columns: Column<BillLine>[] = [
    timeColumn("starts_at", "From", "utc"),
    timeColumn("ends_at", "To", "utc"),
    textColumn("category", "Kind"),
    textColumn("model", "Model"),
    textColumn("part", "Part"),
    { id: "credential", title: "Key", cell: ({ credential }) => nameKey(credential) },
    { id: "quantity", title: "Quantity", isNumber: true, cell: ({ quantity }) => quantity },
    {
      id: "amount",
      title: "Amount",
      isNumber: true,
      cell: ({ amount, currency }) => amount && <Text>{`${amount} ${currency}`}</Text>,
    },
  ];
  return (
    <Page
      title={escapeText(
        `Lines of ${query.get("source")} ${query.get("month") ?? query.get("from")?.slice(0, 10)}`,
      )}
      coverage={null}
    >
      <Loaded data={lines} empty={<Empty title="No lines" />}>
        {(rows) => (
          <Table
            caption="Lines of the bill"
            columns={columns}
            rows={rows}
            keyOf={({ position }) => String(position)}
            source={{ path, name: "bill-lines" }}
            more={lines.more}
          />
        )}
      </Loaded>
    </Page>
  );
}
