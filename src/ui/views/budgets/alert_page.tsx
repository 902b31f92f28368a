import { useState } from "preact/hooks";
import type { AlertDelivery, AlertDetail } from "../../../contract/alerts/alerts.ts";
import { DIMENSIONS, NAMED } from "../../../contract/costs/dimensions.ts";
import { escapeText } from "../../../kernel/text.ts";
import { shortUsd } from "../../format/money.ts";
import { percent } from "../../format/number.ts";
import { utc } from "../../format/time.ts";
import { useData } from "../../hooks/data.ts";
import { Badge, Banner, Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { budgetsHref, limitHref, runsHref, sessionHref } from "../links.ts";
import { SEVERITY_TONES } from "../tones.ts";
import { countColumn } from "../cells.tsx";
import { CounterLink } from "./counters.tsx";
import { AlertCausesCards, hrefOfCauses, isPartial } from "./alert_causes.tsx";
import { ALERT_COLUMNS, HISTORY, StateBadge } from "./alerts_page.tsx";
import { Measured, windowIn } from "./measured.tsx";
import { AcknowledgeButton, ResendButton } from "./rule_actions.tsx";
import { SectionPage } from "./section_page.tsx";

/** Earlier alerts that are shown at first. */
const SHOWN = 5;

/** One alert: the spending that made it fire, its deliveries, and the earlier alerts of its rule. */
export function AlertPage({ alertId }: { alertId: string }) {
  const path = `/alerts/history/${encodeURIComponent(alertId)}`;
  const alert = useData<AlertDetail>(path, { refreshMs: 30_000 });
  const title = alert.value ? `Alert: ${escapeText(alert.value.rule_name)}` : "Alert";
  return (
    <SectionPage title={title}>
      {alert.error?.status === 404 && !alert.value
        ? (
          <Empty title="No alert has this address">
            The history keeps the newest alerts only. <Link href={budgetsHref("alerts")}>See all alerts</Link>
          </Empty>
        )
        : <Loaded data={alert}>{(value) => <Detail alert={value} path={path} />}</Loaded>}
    </SectionPage>
  );
}

function Detail({ alert, path }: { alert: AlertDetail; path: string }) {
  const [shown, setShown] = useState(SHOWN);
  const { rule_id, rule_name, severity, value_usd, threshold_usd, limit_usd, window_start, causes } = alert;
  const href = hrefOfMeasured(alert);
  const isCurrent = causes?.cost_usd === value_usd;
  return (
    <>
      {alert.test && <Banner tone="accent">This is a test of the rule. Nothing was spent for it.</Banner>}
      <Card
        title="Why it fired"
        aside={
          <>
            <Badge tone={SEVERITY_TONES[severity]}>{severity}</Badge> <StateBadge {...alert} />
            {alert.state === "firing" && <AcknowledgeButton alertId={alert.alert_id} />}
          </>
        }
      >
        <p class="answer">
          <Text>{findingOf(alert)}</Text>
        </p>
        <Stats>
          <Stat
            label="Value"
            note={value_usd === null
              ? "used of the window"
              : isCurrent || href === undefined
              ? "spent in the window"
              : (
                <>
                  spent until it fired; by now{" "}
                  <Link href={href}>
                    <Money usd={causes!.cost_usd} />
                  </Link>
                </>
              )}
          >
            <Link href={isCurrent ? href : undefined}>
              <Measured usd={value_usd} pct={alert.value_pct} />
            </Link>
          </Stat>
          <Stat
            label="Threshold"
            note={limit_usd === undefined ? windowIn(alert) : (
              <>
                {limit_usd > 0 && `${percent(threshold_usd! / limit_usd)} of `}the limit{" "}
                <Money usd={limit_usd} />
              </>
            )}
          >
            <Measured usd={threshold_usd} pct={alert.threshold_pct} />
          </Stat>
          <Stat
            label="Window"
            note={window_start === null ? undefined : `from ${utc(Date.parse(window_start))}`}
          >
            {windowIn(alert)}
          </Stat>
          <Stat label="Fired" note={utc(Date.parse(alert.triggered_at))}>
            <Time at={alert.triggered_at} />
          </Stat>
        </Stats>
        <p class="facts">
          <span>
            {rule_id.startsWith("bud_") ? "Budget" : "Rule"}{" "}
            <Link href={limitHref(rule_id)}>
              <Text>{rule_name}</Text>
            </Link>
          </span>
          {alert.counter && (
            <span>
              Counter <CounterLink counter={alert.counter} names={alert} />
            </span>
          )}
          {NAMED.map((kind) => {
            const id = alert[DIMENSIONS[kind].field];
            return id !== undefined && alert.counter?.kind !== kind && (
              <span key={kind}>
                Call by <CounterLink counter={{ kind, id }} names={alert} />
              </span>
            );
          })}
          {alert.session_id !== null && (
            <span>
              Fired by a call of session{" "}
              <Link href={sessionHref(alert.session_id, { run_id: alert.run_id })}>
                <Id>{alert.session_id}</Id>
              </Link>
            </span>
          )}
        </p>
      </Card>
      {causes && <AlertCausesCards causes={causes} />}
      {alert.acknowledged_at !== undefined && (
        <Banner tone="accent">
          Acknowledged <Time at={alert.acknowledged_at} /> {alert.acknowledged_by && "by "}
          <Text>{alert.acknowledged_by ?? ""}</Text>
          {alert.note && ": "}
          <Text>{alert.note ?? ""}</Text>
        </Banner>
      )}
      <Card title="Deliveries" aside={<ResendButton alertId={alert.alert_id} />}>
        {alert.deliveries.length === 0
          ? (
            <Empty title="No channel got it" command="purser channels list">
              Channels are set up in purser.json; each has a lowest severity.
            </Empty>
          )
          : (
            <Table
              caption="Deliveries"
              columns={DELIVERY_COLUMNS}
              rows={alert.deliveries}
              keyOf={({ delivery_id }) => delivery_id}
              source={{ path, name: "deliveries", field: "deliveries" }}
              sortParam="deliveries"
            />
          )}
      </Card>
      <Card title="Earlier alerts">
        {alert.past.length === 0 ? <p class="muted">It has not fired before.</p> : (
          <Table
            caption="Earlier alerts"
            columns={ALERT_COLUMNS}
            rows={alert.past.slice(0, shown)}
            keyOf={({ alert_id }) => alert_id}
            source={{ path: HISTORY, name: "alerts", keep: { rule_id } }}
            more={alert.past.length > shown ? () => setShown(alert.past.length) : undefined}
            sortParam="past"
          />
        )}
      </Card>
    </>
  );
}

/** Returns the page with the present sum of the calls that an alert measured; undefined if none has the same calls. */
function hrefOfMeasured({ causes, threshold_type }: AlertDetail): string | undefined {
  // A budget counts the runs below a run too.
  if (!causes || threshold_type === "budget_per_run_usd") return undefined;
  const { session_id, run_id, ...scope } = causes.measured;
  if (run_id !== null) return runsHref(session_id);
  return session_id === null ? hrefOfCauses(scope, causes) : sessionHref(session_id);
}

/** Says in a sentence what made an alert fire. */
function findingOf(alert: AlertDetail): string {
  const { test, value_usd, threshold_usd, plan_window: plan, causes } = alert;
  if (test) return "A person or a program asked for a test of this rule.";
  const window = windowIn(alert);
  if (value_usd === null || threshold_usd === null) {
    const reset = plan ? ` It resets at ${utc(Date.parse(plan.resets_at))}.` : "";
    return `${alert.value_pct}% of the ${window} is used, the threshold is ${alert.threshold_pct}%.${reset}`;
  }
  const first = `${shortUsd(value_usd)} in the window (${window}) has reached the threshold of ${
    shortUsd(threshold_usd)
  }.`;
  const top = causes?.sessions[0];
  if (!causes || !top?.share || isPartial(causes)) {
    return first;
  }
  return `${first} ${percent(top.share)} of it is session ${top.session_id}.`;
}

const DELIVERY_TONES = { delivered: "good", failed: "bad", pending: "warning" } as const;

const DELIVERY_COLUMNS: Column<AlertDelivery>[] = [
  {
    id: "channel",
    title: "Channel",
    sortBy: true,
    cell: ({ channel, kind }) => (
      <>
        <Text>{channel || "hidden"}</Text>{" "}
        <span class="muted">
          <Text>{kind}</Text>
        </span>
      </>
    ),
  },
  {
    id: "status",
    title: "Status",
    sortBy: true,
    cell: ({ status }) => <Badge tone={DELIVERY_TONES[status]}>{status}</Badge>,
  },
  countColumn("attempts", "Attempts", ({ attempts }) => attempts),
  {
    id: "delivered_at",
    title: "Delivered",
    sortBy: true,
    cell: ({ delivered_at }) =>
      delivered_at === null ? <span class="muted">not yet</span> : <Time at={delivered_at} />,
  },
  {
    id: "last_error",
    title: "Latest error",
    cell: ({ last_error }) =>
      last_error === null ? <span class="muted">none</span> : <Text>{last_error}</Text>,
  },
];
