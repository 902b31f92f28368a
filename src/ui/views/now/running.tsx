import { NEAR_LIMIT } from "../../../contract/limits.ts";
import { Meter } from "../../charts/meter.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import { shortUsd } from "../../format/money.ts";
import { percent, plural } from "../../format/number.ts";
import { request } from "../../hooks/request.ts";
import { apiPath } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import type { LiveAgent, LiveRun, LiveState } from "../../live/types.ts";
import { Card } from "../../parts/card.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { StatusBadge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { costsHref, sessionHref } from "../links.ts";
import { moneyColumn } from "../cells.tsx";

/** The runs in progress, each with its cost so far. */
export function RunsCard({ state: { runs, running } }: { state: LiveState }) {
  return (
    <Card title="Runs in progress">
      {runs.length === 0
        ? (
          <Empty title="No run is in progress">
            Runs of agents that are defined here are listed while they last, with their cost so far.
          </Empty>
        )
        : (
          <Table
            caption="Runs in progress"
            columns={RUN_COLUMNS}
            rows={runs}
            keyOf={({ run_id }) => run_id}
            source={{ path: apiPath("/runs", { status: "running" }), name: "runs" }}
            sortParam="runs"
            foot={running > runs.length ? `The newest ${runs.length} of ${running}` : undefined}
          />
        )}
    </Card>
  );
}

const RUN_COLUMNS: Column<LiveRun>[] = [
  {
    id: "agent_id",
    title: "Run",
    sortBy: true,
    cell: ({ agent_id, session_id, run_id }) => (
      <>
        <Link href={costsHref({ agent_id })} class="strong">
          <Text>{agent_id}</Text>
        </Link>
        <div class="sub">
          <Link href={sessionHref(session_id, { run_id })}>
            <Id>{session_id}</Id>
          </Link>
        </div>
      </>
    ),
  },
  {
    id: "started_at",
    title: "Started",
    sortBy: true,
    cell: ({ started_at, steps, model, status, waiting_for }) => (
      <>
        <Time at={started_at} /> {waiting_for && <StatusBadge status={status} waiting_for={waiting_for} />}
        <div class="sub">
          {plural(steps, "step")}, <Text>{model}</Text>
        </div>
      </>
    ),
  },
  {
    id: "cost_usd",
    title: "Cost so far",
    isMoney: true,
    sortBy: ({ token_usage }) => token_usage.cost_usd,
    cell: (run) => <RunCost run={run} />,
  },
  { id: "actions", title: "", cell: (run) => <CancelButton run={run} /> },
];

function RunCost({ run: { token_usage: { cost_usd }, cost_budget_usd } }: { run: LiveRun }) {
  if (cost_budget_usd === null || cost_usd === null) return <Money usd={cost_usd} />;
  const share = cost_budget_usd > 0 ? cost_usd / cost_budget_usd : 1;
  const state = share >= 1 ? "reached" : share >= NEAR_LIMIT ? "near" : "ok";
  return (
    <div class="run-cost">
      <span>
        <Money usd={cost_usd} />{" "}
        <span class="muted">
          of <Money usd={cost_budget_usd} />
        </span>
      </span>
      <Meter
        spent={cost_usd}
        limit={cost_budget_usd}
        state={state}
        label={`${percent(share)} of the run's budget`}
      />
    </div>
  );
}

function CancelButton({ run: { run_id, agent_id, token_usage } }: { run: LiveRun }) {
  if (!useAccess().may("run")) return null;
  return (
    <ActionButton
      label="Cancel run"
      isDangerous
      gone="The run has ended."
      explanation={
        <p>
          The run <Id>{run_id}</Id> of{" "}
          <strong>
            <Text>{agent_id}</Text>
          </strong>{" "}
          ends as cancelled, after{" "}
          <Money usd={token_usage.cost_usd} />. A model call that is in progress is stopped, and still costs.
        </p>
      }
      run={async () => {
        await request(`/runs/${encodeURIComponent(run_id)}/cancel`, { method: "POST" });
        return `Cancelled the run ${run_id} of ${agent_id}`;
      }}
    />
  );
}

const SHOWN_AGENTS = 8;

/** The agents that spend at present, by their pace. */
export function BurnCard({ state }: { state: LiveState }) {
  const agents = state.agents.filter(({ minutes }) => minutes.some((usd) => usd > 0))
    .toSorted((a, b) => b.usd_per_minute - a.usd_per_minute);
  return (
    <Card title="What burns now">
      {agents.length === 0
        ? (
          <Empty title="Nothing was spent in the last hour">
            Agents that spend are listed with their pace.
          </Empty>
        )
        : (
          <Table
            caption="Agents by their pace"
            columns={burnColumns(state.day)}
            rows={agents.slice(0, SHOWN_AGENTS)}
            keyOf={({ agent_id }) => agent_id}
            source={{
              path: apiPath("/costs", { group_by: "agent", from: state.day, time_zone: state.time_zone }),
              name: "agents_today",
            }}
            sortParam="pace"
            defaultSort="-usd_per_minute"
            foot={agents.length > SHOWN_AGENTS ? `The first ${SHOWN_AGENTS} of ${agents.length}` : undefined}
          />
        )}
    </Card>
  );
}

function burnColumns(day: string): Column<LiveAgent>[] {
  return [
    {
      id: "agent_id",
      title: "Agent",
      sortBy: true,
      cell: ({ agent_id }) => (
        <Link href={costsHref({ agent_id, from: day })}>
          <Text>{agent_id}</Text>
        </Link>
      ),
    },
    {
      id: "minutes",
      title: "Last hour",
      cell: ({ agent_id, minutes }) => (
        <Sparkline
          values={minutes}
          label={`Spending of ${agent_id} in each of the last ${minutes.length} minutes, up to ${
            shortUsd(Math.max(...minutes))
          }`}
        />
      ),
    },
    moneyColumn("usd_per_minute", "$/min"),
    moneyColumn("cost_usd", "Today", { hrefOf: ({ agent_id }) => costsHref({ agent_id, from: day }) }),
  ];
}
