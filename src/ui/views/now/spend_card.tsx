import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { count, percent } from "../../format/number.ts";
import { useData } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import type { LiveState } from "../../live/types.ts";
import { Card } from "../../parts/card.tsx";
import { Segments } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { RUN_AGENT } from "../commands.ts";
import { Calls, type Coverage } from "../coverage.tsx";
import { countColumn, moneyColumn } from "../cells.tsx";
import { SpendChart, type Spender, spenderOf } from "./spend_chart.tsx";
import type { Span } from "../spans/span.ts";
import { barsPath, type Group, GROUPS, groupsPath, totalPath } from "./span.ts";

/** The sums of a span, of the server. */
export type SpanSum = Coverage & { cost_usd: number | null };

/**
 * Returns the sums of a span and its models or agents. Those of today are in the live state; those of longer spans are
 * requested.
 */
export function useSpending(span: Span, group: Group, live: LiveState | undefined) {
  const isToday = span.name === "today";
  const total = useData<CostTotal>(isToday ? undefined : totalPath(span), { refreshMs: 30_000 });
  const groups = useData<CostRow[]>(isToday ? undefined : groupsPath(span, group), { refreshMs: 30_000 });
  const rows = isToday ? (group === "agent" ? live?.agents : live?.models) : groups.value;
  const sum: SpanSum | undefined = isToday ? live?.spend : total.value;
  return {
    sum,
    spenders: rows?.map((row) => spenderOf(row, group, span)),
    error: total.error ?? groups.error,
  };
}

/** The spending of a span: bars over time, and its models or agents. */
export function SpendCard({ span, today, sum, spenders }: {
  span: Span;
  today: string;
  sum: SpanSum | undefined;
  spenders: readonly Spender[] | undefined;
}) {
  const group = useGroup();
  const bars = useData<CostRow[]>(barsPath(span, group), { refreshMs: 15_000 });
  const data = { ...bars, value: bars.value && sum && spenders && { rows: bars.value, sum, spenders } };
  return (
    <Card
      title="Where the money went"
      aside={<Segments name="by" label="Split by" fallback="model" choices={GROUPS} />}
    >
      <Loaded
        data={data}
        isEmpty={({ sum }) => sum.model_calls === 0}
        empty={
          <Empty title={`No calls ${span.title}`} command={RUN_AGENT}>
            These commands make an agent's first call, without a key. Calls of your own programs are counted
            through the library, the gateway, or POST /costs/events.
          </Empty>
        }
      >
        {({ rows, sum, spenders }) => (
          <>
            <SpendChart
              rows={rows}
              spenders={spenders}
              total={sum.cost_usd}
              span={span}
              group={group}
              today={today}
            />
            <Table
              caption={`Spending ${span.title} by ${group}`}
              columns={columnsOf(group, sum)}
              rows={spenders}
              keyOf={({ key }) => key}
              source={{ path: groupsPath(span, group), name: `costs_by_${group}` }}
              defaultSort="-cost_usd"
              foot={<Calls of={sum} span={span} />}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Returns the group of the URL's `by`. */
export function useGroup(): Group {
  return useRoute().query.get("by") === "agent" ? "agent" : "model";
}

function columnsOf(group: Group, sum: SpanSum): Column<Spender>[] {
  const shareOf = ({ cost_usd }: Spender) => sum.cost_usd ? Math.min(1, (cost_usd ?? 0) / sum.cost_usd) : 0;
  return [
    {
      id: "name",
      title: group === "agent" ? "Agent" : "Model",
      sortBy: ({ label }) => label,
      cell: ({ label, href }) => (
        <Link href={href}>
          <Text>{label}</Text>
        </Link>
      ),
    },
    countColumn("model_calls", "Calls", ({ model_calls }) => model_calls),
    ...sum.unpriced_calls === 0 ? [] : [UNPRICED],
    {
      id: "share",
      title: "Share",
      isNumber: true,
      cell: (spender) => spender.cost_usd === null ? <span class="muted">–</span> : percent(shareOf(spender)),
    },
    moneyColumn("cost_usd", "Cost", { hrefOf: ({ href }) => href }),
  ];
}

const UNPRICED: Column<Spender> = {
  id: "unpriced_calls",
  title: "Without a price",
  isNumber: true,
  sortBy: true,
  cell: ({ unpriced_calls }) => unpriced_calls === 0 ? <span class="muted">0</span> : count(unpriced_calls),
};
