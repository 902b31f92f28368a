import type { Alert, AlertDelivery } from "../../../contract/alerts/alerts.ts";
import type { Channel, TestResult } from "../../../contract/channels.ts";
import { apiPath, uiPath } from "../../hooks/route.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { request } from "../../hooks/request.ts";
import { useAccess } from "../../hooks/session.ts";
import { Badge, Card } from "../../parts/card.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Block, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { countColumn, textColumn } from "../cells.tsx";

/** A delivery with the alert that it delivers. */
interface Sent extends AlertDelivery {
  alert: Alert;
}

/** The channels that alerts are sent through, and the deliveries that failed. */
export function Channels() {
  const { may } = useAccess();
  const channels = useData<Channel[]>("/channels");
  const path = apiPath("/alerts/history", { limit: 100 });
  const alerts = usePages<Alert>(path, { refreshMs: 30_000 });
  const sent =
    alerts.value?.flatMap((alert) => alert.deliveries.map((delivery): Sent => ({ ...delivery, alert }))) ??
      [];
  return (
    <>
      <Card title="Channels">
        <Loaded data={channels} empty={NONE}>
          {(rows) => (
            <Table
              caption="Channels"
              columns={columnsOf(sent, may("admin"))}
              rows={rows}
              keyOf={({ name }) => name}
              source={{ path: "/channels", name: "channels" }}
            />
          )}
        </Loaded>
      </Card>
      <Card title="Last failures">
        <Loaded
          data={alerts}
          isEmpty={() => failuresOf(sent).length === 0}
          empty={<Empty title="No delivery of the last 100 alerts has failed" />}
        >
          {() => (
            <Table
              caption="Deliveries that failed"
              columns={FAILURES}
              rows={failuresOf(sent)}
              keyOf={({ delivery_id }) => delivery_id}
              sortParam="failures"
              source={{ path, name: "alerts" }}
            />
          )}
        </Loaded>
      </Card>
    </>
  );
}

const NONE = (
  <Empty title="No channels yet" command="purser channels list">
    Channels are set up in the config file, under channels.
  </Empty>
);

/** Returns the deliveries with an error, the newest first: failed for good, or still retried. */
function failuresOf(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ status, last_error }) => status !== "delivered" && last_error !== null);
}

function columnsOf(sent: readonly Sent[], mayTest: boolean): Column<Channel>[] {
  const lastOf = (name: string, status: AlertDelivery["status"]) =>
    sent.find((delivery) => delivery.channel === name && delivery.status === status);
  return [
    textColumn("name", "Channel"),
    textColumn("kind", "Kind"),
    {
      id: "status",
      title: "State",
      sortBy: true,
      cell: ({ status, problem }) => (
        <>
          <Badge tone={status === "ok" ? "good" : "bad"}>{status === "ok" ? "ready" : "invalid"}</Badge>
          {problem !== null && (
            <p class="channel-problem">
              <Text>{problem}</Text>
            </p>
          )}
        </>
      ),
    },
    { id: "min_severity", title: "From severity", cell: ({ min_severity }) => min_severity },
    {
      id: "delivered",
      title: "Last delivered",
      cell: ({ name }) => <Time at={lastOf(name, "delivered")?.delivered_at} />,
    },
    {
      id: "failed",
      title: "Last failure",
      cell: ({ name }) => {
        const failed = lastOf(name, "failed");
        return failed === undefined
          ? <span class="muted">none</span>
          : (
            <Link href={uiPath("budgets", "alerts", failed.alert.alert_id)}>
              <Time at={failed.alert.triggered_at} />
            </Link>
          );
      },
    },
    {
      id: "settings",
      title: "Settings",
      cell: ({ name, settings }) => (
        <details class="channel-settings">
          <summary>Show</summary>
          <Block value={settings} label={`Settings of ${name}`} />
        </details>
      ),
    },
    ...mayTest ? [{ id: "test", title: "", cell: (channel: Channel) => <Try {...channel} /> }] : [],
  ];
}

function Try({ name, kind }: Channel) {
  return (
    <ActionButton
      label="Send a test"
      explanation={
        <>
          One test notification is sent through <Text>{name}</Text>{" "}
          (<Text>{kind}</Text>), without retries. The history of alerts doesn't have it.
        </>
      }
      run={async () => {
        const { value } = await request<TestResult>(`/channels/${encodeURIComponent(name)}/test`, {
          method: "POST",
        });
        return `Sent a test through ${name} in ${value.duration_ms} ms`;
      }}
    />
  );
}

const FAILURES: Column<Sent>[] = [
  {
    id: "at",
    title: "Alert of",
    sortBy: ({ alert }) => alert.triggered_at,
    cell: ({ alert }) => <Time at={alert.triggered_at} as="utc" />,
  },
  {
    id: "alert",
    title: "Alert",
    sortBy: ({ alert }) => alert.rule_name,
    cell: ({ alert }) => (
      <Link href={uiPath("budgets", "alerts", alert.alert_id)}>
        <Text>{alert.rule_name}</Text>
      </Link>
    ),
  },
  textColumn("channel", "Channel"),
  {
    id: "status",
    title: "State",
    sortBy: true,
    cell: ({ status }) => (
      <Badge tone={status === "failed" ? "bad" : "warning"}>
        {status === "failed" ? "failed" : "will be retried"}
      </Badge>
    ),
  },
  countColumn("attempts", "Attempts", ({ attempts }) => attempts),
  { id: "error", title: "Error", cell: ({ last_error }) => <Text>{last_error!}</Text> },
];
