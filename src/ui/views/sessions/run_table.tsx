import { totalUsd, type TrackedRun } from "../../../contract/replay/mod.ts";
import { count, plural } from "../../format/number.ts";
import { span } from "../../format/time.ts";
import { hrefWith } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { StatusBadge } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";

const SHOWN = 50;

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
  { id: "status", title: "Status", sortBy: ({ status }) => status, cell: StatusBadge },
  {
    id: "model",
    title: "Model",
    sortBy: ({ model }) => model,
    cell: ({ model }) => model && <Text>{model}</Text>,
  },
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
  {
    id: "calls",
    title: "Calls",
    isNumber: true,
    sortBy: ({ totals }) => totals.calls,
    cell: ({ totals }) => count(totals.calls),
  },
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
    isNumber: true,
    sortBy: ({ totals }) => totalUsd(totals),
    cell: (run) => (
      <Link href={hrefOf(run)}>
        <Money usd={totalUsd(run.totals)} />
      </Link>
    ),
  },
];

function tookOf({ startedAt, endedAt }: TrackedRun): number | null {
  return startedAt === null || endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt);
}

/** The runs of a session, newest first, as far as its log is read. */
export function RunTable({ runs, isAtEnd }: { runs: readonly TrackedRun[]; isAtEnd: boolean }) {
  const rows = runs.slice(-SHOWN).toReversed();
  return (
    <Table
      caption="Runs of the session"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ runId }) => runId}
      foot={(rows.length < runs.length ? `The newest ${SHOWN} of ${plural(runs.length, "run")}` : "") +
          (isAtEnd ? "" : " as far as the log is read") || undefined}
    />
  );
}
