import { useRoute } from "../../hooks/route.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { byShare, byTime, type Limit } from "../budgets/limit.ts";
import { limitColumns, type LimitRow } from "../budgets/limit_columns.tsx";
import { ADD_BUDGET } from "../commands.ts";
import { budgetsHref } from "../links.ts";

const SHOWN = 6;

/** Only these orders decide on the limits that are shown. */
const COLUMNS: Column<LimitRow<Limit>>[] = limitColumns<Limit>("Limit", ({ of }) => of.kind)
  .map((column) => ["share", "reaches_at"].includes(column.id) ? column : { ...column, sortBy: undefined });

/** Returns a limit for a download, a rule with the names of a budget's fields. */
function entryOf(limit: Limit) {
  return {
    kind: limit.kind,
    id: limit.id,
    name: limit.name,
    scope: limit.scope,
    per: limit.per,
    spent_usd: limit.spent,
    reserved_usd: limit.reserved,
    limit_usd: limit.limit,
    extra_usd: limit.raised,
    state: limit.state,
    usd_per_hour: limit.usdPerHour,
    reaches_at: limit.reachesAt,
    resets_at: limit.resetsAt,
  };
}

/** The budgets and rules that are closest to their limits, by share, or by the time at which they are reached. */
export function LimitsCard({ limits }: { limits: readonly Limit[] }) {
  const isByTime = useRoute().query.get("limits") === "reaches_at";
  const enabled = limits.filter(({ enabled }) => enabled);
  const ordered = isByTime ? byTime(enabled) : byShare(enabled);
  return (
    <Card
      title="How close the limits are"
      aside={<Link href={budgetsHref()}>All budgets and rules</Link>}
    >
      {enabled.length === 0
        ? (
          <Empty
            title="No budget and no alert rule"
            command={ADD_BUDGET}
          >
            A budget refuses calls once it is reached; a rule notifies.
          </Empty>
        )
        : (
          <Table
            caption="Limits"
            columns={COLUMNS}
            rows={ordered.slice(0, SHOWN).map((limit) => ({ of: limit, limit }))}
            keyOf={({ limit }) => limit.id}
            sortParam="limits"
            defaultSort="-share"
            source={{ name: "limits", rows: ordered.map(entryOf) }}
            foot={enabled.length > SHOWN ? `The first ${SHOWN} of ${enabled.length}` : undefined}
          />
        )}
    </Card>
  );
}
