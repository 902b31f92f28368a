import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import type { SetPrice } from "../../../contract/prices.ts";
import { AddButton, EditButton, RemoveButton } from "../../forms/resource_buttons.tsx";
import { PRICE } from "../../forms/resources.ts";
import { useAccess } from "../../hooks/session.ts";
import { Command } from "../../parts/command.tsx";
import { Time } from "../../parts/time.tsx";
import { count, percent, plural } from "../../format/number.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { uiPath, useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { GroupLink, nameOf } from "./group.tsx";
import { costPath } from "./scope.ts";
import { useSpan } from "../spans/span.ts";
import { countColumn, moneyColumn, textColumn } from "../cells.tsx";

/** The calls without a price, those priced in part, and those whose tokens are an estimate, with the fix. */
export function Coverage() {
  const { session } = useAccess();
  const { query } = useRoute();
  const { from, to, time_zone, title } = useSpan();
  const total = useData<CostTotal>(costPath("/costs/total", query, { from, to, time_zone }));
  const path = costPath("/costs", query, { group_by: "model", from, to, time_zone, limit: 1000 });
  const models = usePages<CostRow>(path);
  return (
    <>
      <Card title={`Calls with a price ${title}`}>
        <Loaded
          data={total}
          isEmpty={({ model_calls }) => model_calls === 0}
          empty={<Empty title="No calls in this span" command="purser cost" />}
        >
          {(value) => <Figures total={value} />}
        </Loaded>
      </Card>
      <Card title="Models to look at">
        <Loaded
          data={models}
          isEmpty={(rows) => !rows.some(isUncertain)}
          empty={
            <Empty
              title={models.value?.length
                ? "Every call has a price, every token is the provider's own count, and none is known from a log alone"
                : "No model was called in this span"}
            />
          }
        >
          {(rows) => (
            <Table
              caption="Models with calls that lack a price, are estimated or lower bounds"
              columns={COLUMNS}
              rows={rows.filter(isUncertain)}
              keyOf={(row) => nameOf(row, "model")}
              source={{ path, name: "coverage" }}
              defaultSort="-unpriced_calls"
            />
          )}
        </Loaded>
      </Card>
      {session.agent_id === null && <SetPrices />}
      {total.value && total.value.unpriced_calls + total.value.partly_priced_calls > 0 && <Fix />}
    </>
  );
}

function isUncertain(
  { unpriced_calls, partly_priced_calls, estimated_calls, lower_bound_calls }: CostRow,
): boolean {
  return unpriced_calls + partly_priced_calls + estimated_calls + lower_bound_calls > 0;
}

function Figures({ total }: { total: CostTotal }) {
  const { model_calls: all, unpriced_calls: none, partly_priced_calls: partly, estimated_calls: estimated } =
    total;
  const priced = all - none - partly;
  const label =
    `${count(priced)} of ${plural(all, "call")} have a price for all parts, ${count(partly)} for some, ` +
    `${count(none)} for none`;
  return (
    <>
      <p class="finding">{label}.</p>
      <svg class="coverage" role="img" aria-label={label} viewBox="0 0 100 8" preserveAspectRatio="none">
        <rect class="coverage-priced" width={priced / all * 100} height="8" />
        <rect class="coverage-partly" x={priced / all * 100} width={partly / all * 100} height="8" />
        <rect class="coverage-none" x={(priced + partly) / all * 100} width={none / all * 100} height="8" />
      </svg>
      <Stats>
        <Stat label="With a price" note={percent(priced / all)}>{count(priced)}</Stat>
        <Stat label="Priced in part" note={percent(partly / all)}>{count(partly)}</Stat>
        <Stat label="Without a price" note={percent(none / all)}>{count(none)}</Stat>
        <Stat label="Tokens estimated" note="the provider's count never arrived">{count(estimated)}</Stat>
        {total.lower_bound_calls > 0 && (
          <Stat
            label="Lower bounds"
            note={
              <>
                which leave out some: see <Link href={uiPath("sources")}>sources</Link>
              </>
            }
          >
            {count(total.lower_bound_calls)}
          </Stat>
        )}
      </Stats>
    </>
  );
}

const COLUMNS: Column<CostRow>[] = [
  {
    id: "name",
    title: "Model",
    sortBy: (row) => nameOf(row, "model"),
    cell: (row) => <GroupLink row={row} group="model" />,
  },
  countColumn("model_calls", "Calls", (row) => row.model_calls),
  countColumn("unpriced_calls", "Without a price", (row) => row.unpriced_calls),
  countColumn("partly_priced_calls", "Priced in part", (row) => row.partly_priced_calls),
  countColumn("estimated_calls", "Estimated", (row) => row.estimated_calls),
  countColumn("lower_bound_calls", "Lower bounds", (row) => row.lower_bound_calls),
  moneyColumn("cost_usd", "Cost so far"),
];

/** The prices that were set, which apply before all others. */
function SetPrices() {
  const path = "/prices/rows?limit=1000";
  const prices = useData<SetPrice[]>(path);
  return (
    <Card
      title="Prices that were set"
      aside={
        <AddButton
          resource={PRICE}
          explanation="It applies to calls from now on, before those of the config and of the sources. A price of the same model, tier and day is replaced."
        />
      }
    >
      <Loaded data={prices} empty={<Empty title="None was set" />}>
        {(rows) => (
          <Table
            caption="Prices that were set"
            columns={PRICES}
            rows={rows}
            keyOf={({ price_id }) => price_id}
            source={{ path, name: "prices" }}
            sortParam="prices"
          />
        )}
      </Loaded>
    </Card>
  );
}

const rate = (id: keyof SetPrice & string, title: string): Column<SetPrice> => ({
  id,
  title,
  isMoney: true,
  sortBy: (price) => price[id] as number,
  cell: (price) => price[id] === undefined ? `${price.change_percent}%` : <Money usd={price[id] as number} />,
});

const PRICES: Column<SetPrice>[] = [
  textColumn("name", "Price"),
  rate("input_usd_per_million", "Input, per million"),
  rate("output_usd_per_million", "Output, per million"),
  { id: "updated_at", title: "Set", cell: ({ updated_at }) => <Time at={updated_at} /> },
  {
    id: "actions",
    title: "",
    cell: (price) => (
      <span class="actions">
        {price.change_percent === undefined && <EditButton resource={PRICE} of={price} />}
        <RemoveButton resource={PRICE} of={price} />
      </span>
    ),
  },
];

/** The commands that give calls a price afterwards. */
function Fix() {
  return (
    <Card title="How to give them a price">
      <ol class="fix">
        <li>
          Get the newest prices, or set one above.
          <Command>purser prices update</Command>
        </li>
        <li>
          See what the calls would cost by now.
          <Command>purser reprice --unpriced</Command>
        </li>
        <li>
          Book it; it can be undone.
          <Command>purser reprice --unpriced --apply</Command>
        </li>
      </ol>
    </Card>
  );
}
