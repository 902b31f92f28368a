import type { Session } from "../../../contract/sessions.ts";
import { escapeText } from "../../../kernel/text.ts";
import { Page } from "../../app/page.tsx";
import { count, percent, plural } from "../../format/number.ts";
import { useData } from "../../hooks/data.ts";
import { request } from "../../hooks/request.ts";
import { hrefWith, uiPath, useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { Card, Stat, Stats } from "../../parts/card.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { StatusBadge } from "../../parts/status.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { coverageHref } from "../coverage.tsx";
import { countColumn, textColumn } from "../cells.tsx";
import { CallTable } from "./call_table.tsx";
import { SubAgents } from "./session_tree.tsx";
import { CostLine } from "./replay/cost_line.tsx";
import { Replay } from "./replay/replay.tsx";
import { useLog } from "./replay/session_log.ts";
import { totalUsd, type TrackedRun } from "../../../contract/replay/mod.ts";
import { span } from "../../format/time.ts";
import { type Column, Table } from "../../parts/table.tsx";

/** One session: its figures, its replay, its runs and its calls. */
export function SessionPage({ sessionId }: { sessionId: string }) {
  const session = useData<Session>(`/sessions/${encodeURIComponent(sessionId)}`, { refreshMs: 10_000 });
  return (
    <Page
      title={`Session ${escapeText(sessionId)}`}
      filters={<CancelRun session={session.value} />}
      coverage={{ of: session.value?.token_usage, href: coverageHref() }}
    >
      <p class="crumb">
        <Link href={uiPath("sessions")}>← All sessions</Link>
      </p>
      {session.error?.status === 404 && !session.value
        ? <Empty title="No session has this address" command="purser sessions list" />
        : (
          <Loaded data={session}>
            {(value) => (
              <>
                <Figures session={value} />
                <SubAgents sessionId={sessionId} />
                {value.event_log_count > 0 || value.restored_from || value.active_run_id !== null
                  ? <Logged session={value} />
                  : <Reported session={value} />}
              </>
            )}
          </Loaded>
        )}
    </Page>
  );
}

function Figures({ session }: { session: Session }) {
  const { token_usage: usage, agent_id } = session;
  const calls = hrefWith({ tab: "calls" });
  const uncounted = usage.unpriced_calls > 0
    ? `without ${plural(usage.unpriced_calls, "call")} that ${
      usage.unpriced_calls === 1 ? "has" : "have"
    } no price`
    : usage.partly_priced_calls > 0
    ? `${plural(usage.partly_priced_calls, "call")} priced in part`
    : "every call has a price";
  return (
    <Card
      title="Session"
      aside={
        <>
          <StatusBadge {...session} />
          <span class="muted">
            active <Time at={session.updated_at} />
          </span>
        </>
      }
    >
      <Stats>
        <Stat label="Cost" note={uncounted}>
          <Link href={calls}>
            <Money usd={usage.cost_usd} />
          </Link>
        </Stat>
        <Stat label="Calls" note={<Models session={session} />}>
          <Link href={calls}>{count(usage.model_calls)}</Link>
        </Stat>
        <Stat
          label="Input tokens"
          note={`${count(usage.cache_read_tokens)} cached` +
            (usage.input_tokens > 0 ? `, ${percent(usage.cache_read_tokens / usage.input_tokens)}` : "")}
        >
          {count(usage.input_tokens)}
        </Stat>
        <Stat label="Output tokens" note={`${count(usage.reasoning_tokens)} of reasoning`}>
          {count(usage.output_tokens)}
        </Stat>
        <Stat label="Agent" note={plural(session.message_count, "message")}>
          <Link href={`${uiPath("costs")}?${new URLSearchParams({ agent_id, span: "all" })}`}>
            <Text>{agent_id}</Text>
          </Link>
        </Stat>
      </Stats>
    </Card>
  );
}

/** The model of a session, or how many it has called, with their names. */
function Models({ session: { models = [], token_usage: { model } } }: { session: Session }) {
  const [only] = models;
  if (models.length > 1) {
    return (
      <details>
        <summary>{plural(models.length, "model")}</summary>
        <ul>
          {models.map((name) => (
            <li key={name}>
              <Text>{name}</Text>
            </li>
          ))}
        </ul>
      </details>
    );
  }
  const name = only ?? model;
  return name === null ? null : <Text>{name}</Text>;
}

function Logged({ session }: { session: Session }) {
  const { query } = useRoute();
  const log = useLog(session);
  const tab = query.get("tab") ?? "replay";
  const runs = log.tracker.runs;
  return (
    <>
      <Tabs
        label="Parts of the session"
        current={tab}
        items={[
          { id: "replay", title: "Replay", href: hrefWith({ tab: undefined }) },
          {
            id: "runs",
            title: log.isAtEnd ? `Runs (${count(runs.length)})` : "Runs",
            href: hrefWith({ tab: "runs" }),
          },
          { id: "calls", title: "Calls", href: hrefWith({ tab: "calls" }) },
        ]}
      />
      {tab === "runs"
        ? (
          <Card title="Runs">
            <RunTable runs={runs} isAtEnd={log.isAtEnd} />
          </Card>
        )
        : tab === "calls"
        ? (
          <Card title="Calls">
            <CallTable sessionId={session.session_id} agentId={session.agent_id} />
          </Card>
        )
        : (
          <>
            <Card title="Step by step">
              <Replay log={log} />
            </Card>
            {log.steps.length > 0 && <CostCard log={log} />}
          </>
        )}
    </>
  );
}

function CostCard({ log }: { log: ReturnType<typeof useLog> }) {
  const line = <CostLine steps={log.steps} isAtEnd={log.isAtEnd} />;
  return <Card title="Cost so far">{line}</Card>;
}

function Reported({ session }: { session: Session }) {
  return (
    <>
      <Card title="Calls">
        <CallTable sessionId={session.session_id} agentId={session.agent_id} />
      </Card>
      <Card title="Step by step">
        <Empty title="This session has no log here">
          It is known from its calls alone: those through the gateway, of a meter, or reported. Only runs of
          Purser have a log of their steps.
        </Empty>
      </Card>
    </>
  );
}

function CancelRun({ session }: { session: Session | undefined }) {
  const { may } = useAccess();
  const runId = session?.active_run_id ?? null;
  if (runId === null || !may("run")) return null;
  return (
    <ActionButton
      label="Cancel run"
      isDangerous
      gone="The run has ended."
      explanation={
        <>
          The run <Text>{runId}</Text>{" "}
          ends before its next step. A model call that is under way is booked, and its cost counts.
        </>
      }
      run={async () => {
        await request(`/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST" });
        return `Cancelled the run ${runId}`;
      }}
    />
  );
}

const hrefOf = ({ runId }: TrackedRun) =>
  hrefWith({ tab: undefined, run: runId, step: undefined, call: undefined, sort: undefined });

const COLUMNS: Column<TrackedRun>[] = [
  {
    id: "run",
    title: "Run",
    cell: (run) => (
      <Link href={hrefOf(run)}>
        <Id>{run.runId}</Id>
      </Link>
    ),
  },
  { id: "status", title: "Status", sortBy: true, cell: StatusBadge },
  textColumn("model", "Model"),
  {
    id: "started",
    title: "Started",
    isNumber: true,
    sortBy: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <Time at={startedAt} as="utc" />,
  },
  {
    id: "took",
    title: "Took",
    isNumber: true,
    sortBy: tookOf,
    cell: (run) => {
      const took = tookOf(run);
      return took === null ? "–" : took < 1000 ? `${took} ms` : span(took);
    },
  },
  countColumn("calls", "Calls", ({ totals }) => totals.calls),
  {
    id: "tokens",
    title: "Tokens in + out",
    isNumber: true,
    sortBy: ({ totals }) => totals.inputTokens,
    cell: ({ totals }) => `${count(totals.inputTokens)} + ${count(totals.outputTokens)}`,
  },
  {
    id: "cost_usd",
    title: "Cost",
    isMoney: true,
    sortBy: ({ totals }) => totalUsd(totals),
    cell: ({ totals }) => <Money usd={totalUsd(totals)} />,
  },
];

function tookOf({ startedAt, endedAt }: TrackedRun): number | null {
  return startedAt === null || endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt);
}

/** Returns a run for a download, with the names of the API's fields. */
function entryOf({ runId, status, model, startedAt, endedAt, totals }: TrackedRun) {
  return {
    run_id: runId,
    status,
    model,
    started_at: startedAt,
    ended_at: endedAt,
    model_calls: totals.calls,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cost_usd: totalUsd(totals),
  };
}

/** The runs of a session, newest first, as far as its log is read. */
function RunTable({ runs, isAtEnd }: { runs: readonly TrackedRun[]; isAtEnd: boolean }) {
  const rows = runs.toReversed();
  return (
    <Table
      caption="Runs of the session"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ runId }) => runId}
      source={{ name: "runs-of-the-session", rows: rows.map(entryOf) }}
      foot={isAtEnd ? undefined : `${plural(rows.length, "run")}, as far as the log is read`}
    />
  );
}
