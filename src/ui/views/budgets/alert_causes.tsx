import type { ComponentChildren } from "preact";
import type { AlertCauses } from "../../../contract/alerts.ts";
import type { CostRow } from "../../../contract/costs.ts";
import { Meter } from "../../charts/meter.tsx";
import { count, percent } from "../../format/number.ts";
import { Card, Grid } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { utc } from "../../format/time.ts";
import { costsHref, sessionHref } from "../links.ts";
import { UncertainCalls } from "../coverage.tsx";

/** Returns whether the sessions are only those at the end of a long window, so that they have no share of its value. */
export function isPartial({ from, sessions_from }: AlertCauses): boolean {
  return from === null || sessions_from > from;
}

/** The spending in the window of an alert: the sessions, models and agents with the most of it, each with its share. */
export function AlertCausesCards({ causes, value }: { causes: AlertCauses; value: number }) {
  const span = { from: causes.from ?? undefined, to: causes.to };
  const sessions = columnsOf("Session", value, ({ session_id, agent_id, model }) => (
    <>
      <Link href={sessionHref(session_id!)}>
        <Id>{session_id!}</Id>
      </Link>
      <div class="sub">
        <Text>{[agent_id, model].filter(Boolean).join(", ")}</Text>
      </div>
    </>
  ));
  const models = columnsOf(
    "Model",
    value,
    ({ provider, model }) => (
      <Link href={costsHref({ provider, model, ...span })}>
        <Text>{`${provider}:${model}`}</Text>
      </Link>
    ),
  );
  const agents = columnsOf("Agent", value, ({ agent_id }) => (
    <Link href={costsHref({ agent_id, ...span })}>
      <Text>{agent_id!}</Text>
    </Link>
  ));
  return (
    <>
      <Card title="What moved it: sessions">
        {isPartial(causes) && (
          <p class="finding">
            The window is long: these are the sessions of the last day of it, from{" "}
            {utc(Date.parse(causes.sessions_from))}.
          </p>
        )}
        <Causes
          caption="Sessions in the window"
          columns={sessions}
          rows={causes.sessions}
          name="session_id"
        />
      </Card>
      <Grid>
        <Card title="Models">
          <Causes caption="Models in the window" columns={models} rows={causes.models} name="model" />
        </Card>
        <Card title="Agents">
          <Causes caption="Agents in the window" columns={agents} rows={causes.agents} name="agent_id" />
        </Card>
      </Grid>
    </>
  );
}

function Causes({ caption, columns, rows, name }: {
  caption: string;
  columns: Column<CostRow>[];
  rows: CostRow[];
  name: "session_id" | "model" | "agent_id";
}) {
  if (rows.length === 0) return <p class="muted">None: no call of the window has one.</p>;
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      keyOf={(row) => `${row.provider ?? ""}:${row[name]}`}
      sortParam={name}
    />
  );
}

function columnsOf(
  title: string,
  value: number,
  cell: (row: CostRow) => ComponentChildren,
): Column<CostRow>[] {
  const shareOf = ({ cost_usd }: CostRow) => value > 0 ? Math.min(1, (cost_usd ?? 0) / value) : 0;
  return [
    { id: "name", title, cell },
    {
      id: "share",
      title: "Share of the value",
      sortBy: shareOf,
      cell: (row) => (
        <span class="share-cell">
          <Meter spent={shareOf(row)} limit={1} state="ok" label={percent(shareOf(row))} />
          <span class="number">{row.cost_usd === null ? "–" : percent(shareOf(row))}</span>
        </span>
      ),
    },
    {
      id: "model_calls",
      title: "Calls",
      isNumber: true,
      sortBy: ({ model_calls }) => model_calls,
      cell: (row) => (
        <>
          {count(row.model_calls)}
          {row.cost_usd !== null && <UncertainCalls of={row} />}
        </>
      ),
    },
    {
      id: "cost_usd",
      title: "Cost",
      isNumber: true,
      sortBy: ({ cost_usd }) => cost_usd,
      cell: ({ cost_usd }) => <Money usd={cost_usd} />,
    },
  ];
}
