import type { ComponentChildren } from "preact";
import type { AlertCause, AlertCauses, OtherCauses } from "../../../contract/alerts/alert_causes.ts";
import { toIso } from "../../../kernel/clock.ts";
import { count, percent } from "../../format/number.ts";
import { Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { utc } from "../../format/time.ts";
import { type CostFilters, costsHref, sessionHref } from "../links.ts";
import { moneyColumn, Share } from "../cells.tsx";
import { UncertainCalls } from "../coverage.tsx";

/** Returns whether the sessions are only those at the end of a long window. */
export function isPartial({ from, sessions_from }: AlertCauses): boolean {
  return from === null || sessions_from > from;
}

/** Returns the costs of some calls in the window of an alert, up to the millisecond in which it fired. */
export function hrefOfCauses(of: CostFilters, { from, to }: Pick<AlertCauses, "from" | "to">): string {
  return costsHref({ ...of, from, to: toIso(Date.parse(to) + 1) });
}

/** The spending in the window of an alert: the sessions, models and agents with the most of it, each with its share. */
export function AlertCausesCards({ causes }: { causes: AlertCauses }) {
  const { session_id: _session, run_id: _run, key_name: _name, ...measured } = causes.measured;
  const sessions = columnsOf("Session", ({ session_id, agent_id, model, last_at }) => (
    <>
      <Link href={sessionHref(session_id!)}>
        <Id>{session_id!}</Id>
      </Link>
      <div class="sub">
        <Text>{[agent_id, model].filter(Boolean).join(", ")}</Text>
        {last_at !== undefined && (
          <>
            , last call <Time at={last_at} as="utc" />
          </>
        )}
      </div>
    </>
  ));
  const models = columnsOf(
    "Model",
    ({ provider, model }) => (
      <Link href={hrefOfCauses({ ...measured, provider, model }, causes)}>
        <Text>{`${provider}:${model}`}</Text>
      </Link>
    ),
  );
  const agents = columnsOf(
    "Agent",
    ({ agent_id }) => (
      <Link href={hrefOfCauses({ ...measured, agent_id }, causes)}>
        <Text>{agent_id!}</Text>
      </Link>
    ),
  );
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
          others={causes.others.sessions}
          name="session_id"
        />
      </Card>
      <Card title="Models">
        <Causes
          caption="Models in the window"
          columns={models}
          rows={causes.models}
          others={causes.others.models}
          name="model"
        />
      </Card>
      <Card title="Agents">
        <Causes
          caption="Agents in the window"
          columns={agents}
          rows={causes.agents}
          others={causes.others.agents}
          name="agent_id"
        />
      </Card>
    </>
  );
}

function Causes({ caption, columns, rows, others, name }: {
  caption: string;
  columns: Column<AlertCause>[];
  rows: AlertCause[];
  others: OtherCauses;
  name: "session_id" | "model" | "agent_id";
}) {
  if (rows.length === 0) return <p class="muted">None: no call of the window has one.</p>;
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      keyOf={(row) => `${row.provider ?? ""}:${row[name]}`}
      source={{ name: caption.toLowerCase().replaceAll(" ", "-"), rows }}
      sortParam={name}
      foot={others.cost_usd > 0 && (
        <>
          Others: {percent(others.share)}, <Money usd={others.cost_usd} />
        </>
      )}
    />
  );
}

function columnsOf(
  title: string,
  cell: (row: AlertCause) => ComponentChildren,
): Column<AlertCause>[] {
  return [
    { id: "name", title, cell },
    {
      id: "share",
      title: "Share",
      isNumber: true,
      sortBy: true,
      cell: ({ share }) => <Share share={share} />,
    },
    {
      id: "model_calls",
      title: "Calls",
      isNumber: true,
      sortBy: true,
      cell: (row) => (
        <>
          {count(row.model_calls)}
          {row.cost_usd !== null && <UncertainCalls of={row} />}
        </>
      ),
    },
    moneyColumn("cost_usd", "Cost"),
  ];
}
