import { useState } from "preact/hooks";
import type { Anomaly } from "../../../contract/anomalies.ts";
import { counterText } from "../../../contract/budgets/subjects.ts";
import { NAMED, nameIn } from "../../../contract/costs/dimensions.ts";
import type { AnomalyKind } from "../../../contract/values.ts";
import { HOUR_MS, toIso } from "../../../kernel/clock.ts";
import { escapeText } from "../../../kernel/text.ts";
import { usePages } from "../../hooks/data.ts";
import { apiPath } from "../../hooks/route.ts";
import type { LiveState } from "../../live/types.ts";
import { Badge, Card } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { Measured } from "../budgets/measured.tsx";
import { REASONS } from "../budgets/refusal_reasons.ts";
import { ADD_RULE } from "../commands.ts";
import { budgetsHref, costsHref, limitHref, sessionHref } from "../links.ts";
import { SEVERITY_TONES } from "../tones.ts";
import { timeColumn } from "../cells.tsx";

const ANOMALIES = apiPath("/anomalies", { limit: 50 });

/** The most alerts and refusals, and the most anomalies, that are shown at first. */
const SHOWN = 8;

/** The anomalies that the monitor has detected, each with a link to its step: the newest, and all on request. */
export function AnomaliesCard({ state }: { state: LiveState }) {
  const [isAll, setAll] = useState(false);
  const all = usePages<Anomaly>(isAll ? ANOMALIES : undefined, { refreshMs: 10_000 });
  return (
    <Card title="Out of the ordinary">
      <Loaded
        data={isAll ? all : { ...all, value: state.anomalies.slice(0, SHOWN) }}
        empty={
          <Empty title="Nothing was out of the ordinary">
            Repeated tool calls, growing inputs, costly calls, runs, sessions and hours, and calls faster than
            usual are listed here as they happen.
          </Empty>
        }
      >
        {(rows) => (
          <Table
            caption="Anomalies"
            columns={ANOMALY_COLUMNS}
            rows={rows}
            keyOf={({ anomaly_id }) => anomaly_id}
            source={{ path: ANOMALIES, name: "anomalies" }}
            more={isAll ? all.more : state.anomalies.length > SHOWN ? () => setAll(true) : undefined}
            sortParam="anomalies"
          />
        )}
      </Loaded>
    </Card>
  );
}

/** The kinds of anomalies in words. */
const KINDS: Readonly<Record<AnomalyKind, string>> = {
  repeated_tool_call: "Repeated tool call",
  growing_input: "Growing input",
  costly_call: "Costly call",
  costly_run: "Costly run or session",
  costly_hour: "Costly hour",
  fast_calls: "More calls than usual",
};

/** Returns the step of an anomaly, or the costs of its agent in its hour. */
function hrefOf({ session_id, run_id, call_id, agent_id, details: { hour } }: Anomaly): string {
  if (session_id !== null) return sessionHref(session_id, { run_id, call_id });
  const start = typeof hour === "string" ? Date.parse(hour) : NaN;
  return costsHref({
    agent_id,
    ...!Number.isNaN(start) && { from: toIso(start), to: toIso(start + HOUR_MS) },
  });
}

const ANOMALY_COLUMNS: Column<Anomaly>[] = [
  timeColumn("detected_at", "Time"),
  {
    id: "message",
    title: "What happened",
    cell: (anomaly) => (
      <div class="message">
        <Badge tone={SEVERITY_TONES[anomaly.severity]}>{anomaly.severity}</Badge>{" "}
        <Link href={hrefOf(anomaly)}>
          <Text>{anomaly.message}</Text>
        </Link>
        <div class="sub">
          {KINDS[anomaly.kind] ?? <Text>{anomaly.kind}</Text>}, agent{" "}
          <Link href={costsHref({ agent_id: anomaly.agent_id })}>
            <Text>{anomaly.agent_id}</Text>
          </Link>
        </div>
      </div>
    ),
  },
];

/** The newest alerts and refused calls, together. */
export function AlertsCard({ state: { alerts, refusals } }: { state: LiveState }) {
  const entries = [
    ...alerts.map((alert) => ({
      at: alert.triggered_at,
      key: alert.alert_id,
      entry: <AlertLine alert={alert} />,
    })),
    ...refusals.map((refusal) => ({
      at: refusal.at,
      key: String(refusal.event_id),
      entry: <RefusalLine refusal={refusal} />,
    })),
  ].toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0)).slice(0, SHOWN);
  return (
    <Card
      title="Alerts and refused calls"
      aside={
        <>
          <Link href={budgetsHref("alerts")}>Alerts</Link>
          <Link href={budgetsHref("refusals")}>Refusals</Link>
        </>
      }
    >
      {entries.length === 0 ? <Empty title="No alert has fired" command={ADD_RULE} /> : (
        <ul class="entries">
          {entries.map(({ key, at, entry }) => (
            <li key={key}>
              {entry}
              <span class="muted">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function AlertLine({ alert }: { alert: LiveState["alerts"][number] }) {
  const { alert_id, rule_name, severity, value_usd, threshold_usd, test, counter } = alert;
  return (
    <div>
      <Badge tone={SEVERITY_TONES[severity]}>{test ? "test" : severity}</Badge>{" "}
      <Link href={budgetsHref("alerts", alert_id)}>
        <Text>{rule_name}</Text>
      </Link>{" "}
      <span class="muted">
        {counter && <Text>{`${counterText(counter, alert)}: `}</Text>}
        <Measured usd={value_usd} pct={alert.value_pct} /> of{" "}
        <Measured usd={threshold_usd} pct={alert.threshold_pct} />
      </span>
    </div>
  );
}

function RefusalLine({ refusal }: { refusal: LiveState["refusals"][number] }) {
  const { agent_id, message, session_id, run_id, provider, model, refused_by: [by] } = refusal;
  const facts = [
    model !== null && [provider, model].filter(Boolean).join(":"),
    ...NAMED.filter((kind) => nameIn(refusal, kind)).map((kind) => `${kind} ${nameIn(refusal, kind)}`),
  ].filter(Boolean).join(", ");
  const name = <Text>{agent_id}</Text>;
  return (
    <div title={escapeText(message)}>
      <Badge tone="bad">refused</Badge>{" "}
      {session_id === null ? name : <Link href={sessionHref(session_id, { run_id })}>{name}</Link>}{" "}
      <span class="muted">
        by {by?.budget_id == null ? "its own budget" : (
          <Link href={limitHref(by.budget_id)}>
            <Text>{by.name ?? ""}</Text>
          </Link>
        )}
        {by && `: ${REASONS[by.reason]}`}
        {facts !== "" && (
          <>
            ; <Text>{facts}</Text>
          </>
        )}
      </span>
    </div>
  );
}
