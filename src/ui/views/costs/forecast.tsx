import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import type { CostForecast } from "../../../contract/costs/cost_forecast.ts";
import { BarChart } from "../../charts/bar_chart.tsx";
import { Meter } from "../../charts/meter.tsx";
import { exactUsd, shortUsd } from "../../format/money.ts";
import { plural } from "../../format/number.ts";
import { utcDay } from "../../format/time.ts";
import { useData } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { CoverageNote } from "../coverage.tsx";
import { hrefOfTime } from "./group.tsx";
import { costPath, hrefTo } from "./scope.ts";
import { timeOf } from "../spans/days.ts";
import { endOfBar, timesOf } from "../spans/span.ts";

/** The page shows the whole month, whichever span the URL has for the other pages of the section. */
const WHOLE = new URLSearchParams();

/** The end of the month, as a range of two estimates. */
export function Forecast() {
  const { query } = useRoute();
  const forecast = useData<CostForecast>(costPath("/costs/forecast", query, {}), { refreshMs: 60_000 });
  const { from, time_zone = "UTC" } = forecast.value ?? {};
  const ofMonth = (path: string, more = {}) => from && costPath(path, query, { ...more, from, time_zone });
  const total = useData<CostTotal>(ofMonth("/costs/total"));
  const days = useData<CostRow[]>(ofMonth("/costs", { group_by: "day" }));
  return (
    <>
      <CoverageNote
        of={total.value}
        href={hrefTo("coverage", { span: "month", from: undefined, to: undefined })}
      />
      <Card title={`This month (${time_zone})`}>
        <Loaded data={forecast}>{(value) => <Range forecast={value} />}</Loaded>
      </Card>
      <Card title="Days of the month">
        <Loaded
          data={days}
          empty={<Empty title="No calls this month" command="purser cost --by day" />}
        >
          {(rows) => forecast.value && <Days rows={rows} forecast={forecast.value} />}
        </Loaded>
      </Card>
    </>
  );
}

function Range({ forecast }: { forecast: CostForecast }) {
  const { cost_usd, low_usd, high_usd, forecast_usd, weekday_forecast_usd, unpriced_calls } = forecast;
  if (low_usd === null || high_usd === null) {
    return (
      <>
        <Stats>
          <Stat label="Spent so far">
            <Spent usd={cost_usd} />
          </Stat>
        </Stats>
        <Empty title="Too early for a forecast" command="purser cost">
          It needs three days of calls with a price.
        </Empty>
      </>
    );
  }
  const [low, high] = [shortUsd(low_usd), shortUsd(high_usd)];
  const label = low === high ? `The month ends at about ${low}` : `The month ends at ${low} to ${high}`;
  const spent = cost_usd ?? 0;
  return (
    <>
      <p class="forecast">{label}</p>
      <Meter
        spent={spent}
        reserved={Math.max(0, low_usd - spent)}
        limit={high_usd}
        state="ok"
        label={`${exactUsd(spent)} spent of ${low} to ${high}`}
      />
      <Stats>
        <Stat
          label="Spent so far"
          note={unpriced_calls > 0 && `${plural(unpriced_calls, "call")} without a price not counted`}
        >
          <Spent usd={cost_usd} />
        </Stat>
        <Stat label="At the pace so far" note="the average of the month continues">
          <Money usd={forecast_usd} />
        </Stat>
        <Stat label="By weekdays" note="each day at the median of its weekday in the last four weeks">
          <Money usd={weekday_forecast_usd} />
        </Stat>
      </Stats>
    </>
  );
}

/** The spending of the month; the estimates are no sums of calls, so they link to none. */
function Spent({ usd }: { usd: number | null }) {
  return (
    <Link href={hrefTo("", { span: "month", from: undefined, to: undefined })}>
      <Money usd={usd} />
    </Link>
  );
}

function Days({ rows, forecast }: { rows: readonly CostRow[]; forecast: CostForecast }) {
  const { from, to, time_zone, cost_usd } = forecast;
  const byDay = new Map(rows.map((row) => [row.day, row.cost_usd]));
  const month = { from, to, time_zone, isHourly: false };
  const points = timesOf(month, { first: 0, end: 0 }).map((at) => {
    const day = timeOf(at, time_zone);
    const isPast = byDay.has(day);
    return {
      label: day,
      short: utcDay(day),
      at,
      values: new Map([["cost", byDay.get(day) ?? null]]),
      href: isPast ? hrefOfTime(at, endOfBar(month, at), time_zone, WHOLE) : undefined,
    };
  });
  const dearest = rows.reduce((most, row) => (row.cost_usd ?? 0) > (most.cost_usd ?? 0) ? row : most);
  const spent = cost_usd === null ? "" : `${shortUsd(cost_usd)} so far; `;
  return (
    <BarChart
      title="Cost by day of the month"
      finding={dearest.cost_usd === null
        ? "No price is known"
        : `${spent}the dearest day is ${utcDay(dearest.day!)} with ${shortUsd(dearest.cost_usd)}`}
      points={points}
      series={[{ key: "cost", label: "Cost" }]}
      format={shortUsd}
      pointTitle="Day"
      zone={time_zone}
    />
  );
}
