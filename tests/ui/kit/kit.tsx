import { render } from "preact";
import { Page } from "../../../src/ui/app/page.tsx";
import { BarChart } from "../../../src/ui/charts/bar_chart.tsx";
import { LineChart } from "../../../src/ui/charts/line_chart.tsx";
import { Meter } from "../../../src/ui/charts/meter.tsx";
import { Sparkline } from "../../../src/ui/charts/sparkline.tsx";
import { shortUsd } from "../../../src/ui/format/money.ts";
import { utcDay } from "../../../src/ui/format/time.ts";
import { useData, usePages } from "../../../src/ui/hooks/data.ts";
import { request } from "../../../src/ui/hooks/request.ts";
import { useRoute } from "../../../src/ui/hooks/route.ts";
import { Badge, Banner, Card, Grid, Stat, Stats } from "../../../src/ui/parts/card.tsx";
import { ActionButton, Dialogs } from "../../../src/ui/parts/confirm.tsx";
import { Segments, Select } from "../../../src/ui/parts/filters.tsx";
import { Empty, Loaded } from "../../../src/ui/parts/loaded.tsx";
import { Money } from "../../../src/ui/parts/money.tsx";
import { type Column, Table } from "../../../src/ui/parts/table.tsx";
import { Block, Id, Text } from "../../../src/ui/parts/text.tsx";
import { Time } from "../../../src/ui/parts/time.tsx";
import { Toasts } from "../../../src/ui/parts/toast.tsx";

/** Every part of the dashboard on one page, for tests of the parts themselves. */

const HOSTILE_ID = "ses_\u202e1";

interface Row {
  name: string;
  calls: number;
  cost_usd: number | null;
}

const COLUMNS: Column<Row>[] = [
  { id: "name", title: "Agent", cell: ({ name }) => <Text>{name}</Text>, sortBy: ({ name }) => name },
  { id: "at", title: "Last used", cell: () => <Time at="2026-11-23T16:40:00.000Z" /> },
  { id: "calls", title: "Calls", isNumber: true, cell: ({ calls }) => calls, sortBy: ({ calls }) => calls },
  {
    id: "cost_usd",
    title: "Cost",
    isNumber: true,
    cell: ({ cost_usd }) => <Money usd={cost_usd} />,
    sortBy: ({ cost_usd }) => cost_usd,
  },
];

const LIMITS = [
  { name: "=1+1", limit_usd: 1e-9 },
  { name: '@SUM(A1),"x"', limit_usd: 12.5, reaches_at: "2026-11-23T16:40:00.000Z" },
];

const SERIES = ["researcher", "writer", "other"].map((key) => ({ key, label: key }));
const POINTS = Array.from({ length: 14 }, (_, index) => {
  const label = `2026-11-${String(index + 1).padStart(2, "0")}`;
  return {
    label,
    short: utcDay(label),
    at: Date.parse(label),
    values: new Map([["researcher", index + 1], ["writer", index === 3 ? null : 2.5], ["other", 0.5]]),
    href: `/ui/costs?day=${label}`,
  };
});
const CHART = { points: POINTS, series: SERIES, format: shortUsd, pointTitle: "Day", zone: "UTC" };

function Kit() {
  const { query } = useRoute();
  const rows = usePages<Row>("/rows");
  const broken = useData<Row[]>("/broken");
  const rule = useData<{ enabled: boolean }>("/rule");
  const filters = (
    <>
      <Segments
        name="span"
        label="Span"
        fallback="7d"
        choices={[{ value: "7d", label: "7 days" }, { value: "30d", label: "30 days" }]}
      />
      <Select name="agent" label="Agent" all="All agents" choices={[{ value: "a", label: "researcher" }]} />
    </>
  );
  return (
    <main>
      <Page title="Kit" filters={filters}>
        <output id="query">{query.toString()}</output>
        <Banner>2 of 3,120 calls have no price.</Banner>
        <Card title="Figures">
          <Stats>
            <Stat label="Today (UTC)" note="812 calls">
              <Money usd={4.1042} />
            </Stat>
            <Stat label="Now" note={<Sparkline values={[1, 3, 2]} label="Spend of the last 3 minutes" />}>
              <Money usd={null} />
            </Stat>
          </Stats>
        </Card>
        <Grid>
          <Card title="Bars">
            <BarChart {...CHART} title="Spend" finding="$91 in 14 days, 62% researcher" />
          </Card>
          <Card title="Lines">
            <LineChart {...CHART} title="Calls" finding="Calls grow" />
          </Card>
        </Grid>
        <Card title="Budgets">
          {(["good", "warning", "bad", "neutral", "accent"] as const).map((tone) => (
            <Badge key={tone} tone={tone}>{tone}</Badge>
          ))}
          <Meter spent={42} reserved={4} limit={50} marks={[0.8]} state="near" label="$42 spent of $50" />
        </Card>
        <Card title="Nothing">
          <Empty title="No runs in progress" command="purser run helper">Start one.</Empty>
        </Card>
        <Card title="Texts">
          <Id>{HOSTILE_ID}</Id>
          <Block label="Payload" value={{ text: "<b>\u0007</b>\nline" }} />
        </Card>
        <Card
          title="Rows"
          aside={
            <ActionButton
              label={rule.value?.enabled ? "Disable rule" : "Enable rule"}
              explanation="The rule Day changes its state."
              fields={
                <label>
                  Reason<input name="reason" required />
                </label>
              }
              run={async (fields) => {
                await request("/rule", { method: "POST", body: { reason: fields.get("reason") } });
                return "Changed the rule Day";
              }}
            />
          }
        >
          <Loaded data={rows}>
            {(value) => (
              <Table
                caption="Rows"
                columns={COLUMNS}
                rows={value}
                keyOf={({ name }) => name}
                source={{ path: "/rows", name: "rows" }}
                more={rows.more}
              />
            )}
          </Loaded>
        </Card>
        <Card title="Endless">
          <Table
            caption="Endless"
            columns={[{
              id: "number",
              title: "Number",
              cell: (number) => number,
              sortBy: (number) => number,
            }]}
            rows={Array.from({ length: Number(query.get("endless") ?? 0) }, (_, number) => number)}
            keyOf={String}
            sortParam="numbers"
            source={{ path: "/endless?limit=5", name: "endless", field: "list", keep: { kind: "even" } }}
          />
        </Card>
        <Card title="Limits">
          <Table
            caption="Limits of the kit"
            columns={[{ id: "name", title: "Name", cell: ({ name }) => <Text>{name}</Text> }]}
            rows={LIMITS}
            keyOf={({ name }) => name}
            source={{ name: "limits-of-the-kit", rows: LIMITS }}
          />
        </Card>
        <Card title="Broken">
          <Loaded data={broken}>{() => null}</Loaded>
        </Card>
      </Page>
    </main>
  );
}

render(
  <Toasts>
    <Dialogs>
      <Kit />
    </Dialogs>
  </Toasts>,
  document.getElementById("app")!,
);
