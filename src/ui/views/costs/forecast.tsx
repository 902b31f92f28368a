import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import type { CostForecast } from "../../../contract/costs/cost_forecast.ts";
import { startInUtc } from "../../../contract/windows.ts";
import { DAY_MS } from "../../../kernel/clock.ts";
import { BarChart } from "../../charts/bar_chart.tsx";
import { Meter } from "../../charts/meter.tsx";
import { exactUsd, shortUsd } from "../../format/money.ts";
import { plural } from "../../format/number.ts";
import { utcDay } from "../../format/time.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { CoverageNote } from "../coverage.tsx";
import { hrefOfTime } from "./group.tsx";
import { costPath, hrefTo } from "./scope.ts";
import { dayOf } from "../spans/utc_days.ts";

/** The page shows the whole month, whichever span the URL has for the other pages of the section. */
const WHOLE = new URLSearchParams();

/** The end of the month, as a range of two estimates. */
export function Forecast() {
  const { query } = useRoute();
  const now = useNow(60_000);
  const forecast = useData<CostForecast>(costPath("/costs/forecast", query, {}), { refreshMs: 60_000 });
  const from = dayOf(startInUtc("month", now));
  const total = useData<CostTotal>(costPath("/costs/total", query, { from }));
  const days = useData<CostRow[]>(costPath("/costs", query, { group_by: "day", from }));
  return (
    <>
      <CoverageNote
        of={total.value}
        href={hrefTo("coverage", { span: "month", from: undefined, to: undefined })}
      />
      <Card title="This month (UTC)">
        <Loaded data={forecast}>{(value) => <Range forecast={value} />}</Loaded>
      </Card>
      <Card title="Days of the month">
        <Loaded
          data={days}
          isEmpty={(rows) => rows.length === 0}
          empty={<Empty title="No calls this month" command="purser cost --by day" />}
        >
          {(rows) => (
            <Days
              rows={rows}
              month={startInUtc("month", now)}
              end={startInUtc("month", now, 1)}
              forecast={forecast.value}
            />
          )}
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

function Days({ rows, month, end, forecast }: {
  rows: readonly CostRow[];
  month: number;
  end: number;
  forecast: CostForecast | undefined;
}) {
  const byDay = new Map(rows.map((row) => [row.day, row.cost_usd]));
  const points = Array.from({ length: (end - month) / DAY_MS }, (_, index) => {
    const day = dayOf(month + index * DAY_MS);
    const isPast = byDay.has(day);
    return {
      label: day,
      short: utcDay(day),
      at: Date.parse(day),
      values: new Map([["cost", byDay.get(day) ?? null]]),
      href: isPast ? hrefOfTime(day, DAY_MS, WHOLE) : undefined,
    };
  });
  const dearest = rows.reduce((most, row) => (row.cost_usd ?? 0) > (most.cost_usd ?? 0) ? row : most);
  const spent = forecast?.cost_usd == null ? "" : `${shortUsd(forecast.cost_usd)} so far; `;
  return (
    <BarChart
      title="Cost by day of the month"
      finding={dearest.cost_usd === null
        ? "No price is known"
        : `${spent}the dearest day is ${utcDay(dearest.day!)} with ${shortUsd(dearest.cost_usd)}`}
      points={points}
      series={[{ key: "cost", label: "Cost" }]}
      format={shortUsd}
      pointTitle="Day (UTC)"
    />
  );
}
