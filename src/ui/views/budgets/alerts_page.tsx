import { useState } from "preact/hooks";
import type { Alert, AlertRecord } from "../../../contract/alerts/alerts.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { SEVERITY_TONES } from "../tones.ts";
import { useData } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import { Badge, Card } from "../../parts/card.tsx";
import { Segments, Select } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { AgentCell, NamedValues, SessionCell } from "../cells.tsx";
import { budgetsHref, limitHref } from "../links.ts";
import { Measured, windowIn } from "./measured.tsx";
import { SectionPage } from "./section_page.tsx";

export const HISTORY = "/alerts/history";
const SHOWN = 50;

const SEVERITY_RANKS = { info: 0, warning: 1, critical: 2 };

/** The state of an alert; nothing for one that is over. */
export function StateBadge({ state }: Pick<AlertRecord, "state">) {
  return state === "resolved" ? null : <Badge tone={state === "firing" ? "bad" : "accent"}>{state}</Badge>;
}

/** The columns of alerts, without the rule they are of. */
export const ALERT_COLUMNS: Column<AlertRecord>[] = [
  {
    id: "triggered_at",
    title: "Time",
    sortBy: true,
    cell: ({ alert_id, triggered_at, test, state }) => (
      <>
        <Link href={budgetsHref("alerts", alert_id)} class="strong">
          <Time at={triggered_at} />
        </Link>
        {!test && (
          <>
            {" "}
            <StateBadge state={state} />
          </>
        )}
        {test && (
          <>
            {" "}
            <Badge>test</Badge>
          </>
        )}
      </>
    ),
  },
  {
    id: "severity",
    title: "Severity",
    sortBy: ({ severity }) => SEVERITY_RANKS[severity],
    cell: ({ severity }) => <Badge tone={SEVERITY_TONES[severity]}>{severity}</Badge>,
  },
  {
    id: "value_usd",
    title: "Value",
    isMoney: true,
    sortBy: true,
    cell: ({ value_usd, value_pct }) => <Measured usd={value_usd} pct={value_pct} />,
  },
  {
    id: "threshold_usd",
    title: "Threshold",
    isMoney: true,
    sortBy: true,
    cell: (alert) => (
      <>
        <Measured usd={alert.threshold_usd} pct={alert.threshold_pct} />
        <div class="sub">{windowIn(alert)}</div>
      </>
    ),
  },
  {
    id: "agent_id",
    title: "Agent",
    sortBy: true,
    cell: (alert) => (
      <>
        <AgentCell {...alert} />
        <NamedValues {...alert} />
      </>
    ),
  },
  {
    id: "session_id",
    title: "Session",
    sortBy: true,
    cell: (alert) => <SessionCell {...alert} />,
  },
];

const COLUMNS: Column<Alert>[] = [
  ALERT_COLUMNS[0]!,
  {
    id: "rule_name",
    title: "Rule or budget",
    sortBy: ({ rule_name }) => rule_name.toLowerCase(),
    cell: ({ rule_id, rule_name, counter, ...names }) => (
      <>
        <Link href={limitHref(rule_id)}>
          <Text>{rule_name}</Text>
        </Link>
        {counter && (
          <div class="sub">
            <Text>{counterText(counter, names)}</Text>
          </div>
        )}
      </>
    ),
  },
  ...ALERT_COLUMNS.slice(1),
  { id: "deliveries", title: "Delivered", cell: ({ deliveries }) => <Delivered deliveries={deliveries} /> },
];

function Delivered({ deliveries }: Pick<Alert, "deliveries">) {
  if (deliveries.length === 0) return <span class="muted">no channel</span>;
  const done = deliveries.filter(({ status }) => status === "delivered").length;
  const hasFailed = deliveries.some(({ status }) => status === "failed");
  const tone = hasFailed ? "bad" : done === deliveries.length ? "good" : "warning";
  return <Badge tone={tone}>{done} of {deliveries.length}</Badge>;
}

/** The history of alerts, newest first. */
export function AlertsPage() {
  const { query } = useRoute();
  const [shown, setShown] = useState(SHOWN);
  const history = useData<Alert[]>(HISTORY, { refreshMs: 10_000 });
  const [rule, severity] = [query.get("rule_id"), query.get("severity")];
  const matching =
    history.value?.filter((alert) =>
      (!rule || alert.rule_id === rule) && (!severity || alert.severity === severity)
    ) ?? [];
  const rules = new Map(history.value?.map(({ rule_id, rule_name }) => [rule_id, rule_name]));
  return (
    <SectionPage
      title="Budgets & alerts"
      filters={
        <>
          <Select
            name="rule_id"
            label="Rule or budget"
            all="All rules and budgets"
            choices={[...rules].map(([value, label]) => ({ value, label }))}
          />
          <Segments
            name="severity"
            label="Severity"
            fallback=""
            choices={[
              { value: "", label: "All" },
              { value: "critical", label: "Critical" },
              { value: "warning", label: "Warning" },
              { value: "info", label: "Info" },
            ]}
          />
        </>
      }
    >
      <Card title="Alerts that fired">
        <Loaded
          data={history}
          isEmpty={() => matching.length === 0}
          empty={rule || severity
            ? <Empty title="No alert matches these filters" />
            : (
              <Empty title="No alert has fired" command='purser alerts test "Daily limit"'>
                A test sends one to every channel, and it is listed here.
              </Empty>
            )}
        >
          {() => (
            <Table
              caption="Alerts"
              columns={COLUMNS}
              rows={matching.slice(0, shown)}
              keyOf={({ alert_id }) => alert_id}
              source={{ path: HISTORY, name: "alerts", keep: { rule_id: rule, severity } }}
              more={matching.length > shown ? () => setShown(shown + SHOWN) : undefined}
              foot={matching.length > shown ? `The newest ${shown} of ${matching.length}` : undefined}
            />
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}
