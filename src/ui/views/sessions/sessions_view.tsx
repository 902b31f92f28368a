import type { CostRow } from "../../../contract/costs.ts";
import type { Session } from "../../../contract/sessions.ts";
import { Page } from "../../app/page.tsx";
import { plural } from "../../format/number.ts";
import { apiPath, uiPath, useRoute } from "../../hooks/route.ts";
import { type Pages, useData, usePages } from "../../hooks/data.ts";
import { Card } from "../../parts/card.tsx";
import { Search, Segments, Select } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { StatusBadge, STATUSES } from "../../parts/status.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { RUN_AGENT } from "../commands.ts";
import { callTimes, countColumn, moneyColumn, textColumn } from "../cells.tsx";
import { SessionPage } from "./session_page.tsx";

const PAGE = 100;

/** The sessions, and the page of one: `/ui/sessions/ses_1`. */
export function SessionsView() {
  const sessionId = useRoute().parts[1];
  return sessionId === undefined ? <SessionList /> : <SessionPage key={sessionId} sessionId={sessionId} />;
}

/** The list of sessions: the latest, or the dearest, which the server sorts. */
function SessionList() {
  const { query } = useRoute();
  const agents = useData<CostRow[]>(apiPath("/costs", { group_by: "agent", limit: 1000 }));
  const isByCost = query.get("order") === "dearest";
  return (
    <Page
      title="Sessions"
      filters={
        <>
          <Segments
            name="order"
            label="Order"
            fallback="latest"
            choices={[{ value: "latest", label: "Latest" }, { value: "dearest", label: "Dearest" }]}
          />
          <Select
            name="agent_id"
            label="Agent"
            all="All agents"
            choices={(agents.value ?? []).map(({ agent_id }) => ({ value: agent_id!, label: agent_id! }))}
          />
          {!isByCost && (
            <>
              <Select
                name="status"
                label="Status"
                all="Any status"
                choices={STATUSES.map((value) => ({ value, label: value.replaceAll("_", " ") }))}
              />
              <Search
                name="search"
                label="Search sessions"
                hint="Id, agent, model, customer:acme"
              />
            </>
          )}
        </>
      }
    >
      {isByCost ? <Dearest /> : <Latest />}
    </Page>
  );
}

const NONE = (
  <Empty title="No sessions yet" command={RUN_AGENT}>
    A session is made by its first run. Sessions of other programs appear with the calls that they make
    through the gateway or report.
  </Empty>
);

const idColumn = {
  id: "session",
  title: "Session",
  cell: ({ session_id }: { session_id?: string }) => (
    <Link href={uiPath("sessions", session_id!)}>
      <Id>{session_id!}</Id>
    </Link>
  ),
};

function Latest() {
  const { query } = useRoute();
  const agentId = query.get("agent_id");
  const status = query.get("status") || undefined;
  const search = query.get("search") || undefined;
  const path = apiPath(agentId ? `/agents/${encodeURIComponent(agentId)}/sessions` : "/sessions", {
    ...{ search, status },
    limit: PAGE,
  });
  // A search reads many calls.
  const pages = usePages<Session>(path, search === undefined ? { refreshMs: 15_000 } : {});
  const isFiltered = search !== undefined || status !== undefined;
  return (
    <Card title={isFiltered ? "Sessions that match" : "Latest sessions"}>
      <Loaded
        data={pages}
        empty={isFiltered ? <NoneFound pages={pages} /> : NONE}
      >
        {(rows) => (
          <Table
            caption="Sessions"
            columns={LATEST}
            rows={rows}
            keyOf={({ session_id }) => session_id}
            source={{ path, name: "sessions" }}
            more={pages.more}
            foot={plural(rows.length, "session") +
              (!pages.more ? "" : isFiltered ? "; older ones are not searched yet" : ", and older ones")}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** One request searches a part of a long list only. */
function NoneFound({ pages: { more } }: { pages: Pages<Session> }) {
  if (!more) return <Empty title="No session matches" />;
  return (
    <Empty title="None of the latest sessions matches">
      <button type="button" class="small" onClick={more}>Search older ones</button>
    </Empty>
  );
}

const LATEST: Column<Session>[] = [
  { ...idColumn, sortBy: ({ session_id }) => session_id },
  {
    id: "agent",
    title: "Agent",
    sortBy: ({ agent_id }) => agent_id,
    cell: ({ agent_id }) => <Text>{agent_id}</Text>,
  },
  {
    id: "status",
    title: "Status",
    sortBy: true,
    cell: StatusBadge,
  },
  countColumn("calls", "Calls", ({ token_usage }) => token_usage.model_calls),
  countColumn("tokens", "Tokens", ({ token_usage }) => token_usage.total_tokens),
  {
    id: "cost_usd",
    title: "Cost",
    isMoney: true,
    sortBy: ({ token_usage }) => token_usage.cost_usd,
    cell: ({ session_id, token_usage }) => (
      <Link href={`${uiPath("sessions", session_id)}?tab=calls`}>
        <Money usd={token_usage.cost_usd} />
      </Link>
    ),
  },
  {
    id: "updated",
    title: "Last active",
    isNumber: true,
    sortBy: ({ updated_at }) => updated_at,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

function Dearest() {
  const agent_id = useRoute().query.get("agent_id") ?? undefined;
  const path = apiPath("/costs", { group_by: "session", sort: "cost", agent_id, limit: PAGE });
  const pages = usePages<CostRow>(path);
  return (
    <Card title="Dearest sessions">
      <Loaded data={pages} empty={NONE}>
        {(rows) => (
          <Table
            caption="Sessions by cost"
            columns={DEAREST}
            rows={rows}
            keyOf={({ session_id }) => session_id!}
            source={{ path, name: "sessions-by-cost" }}
            defaultSort="-cost_usd"
            more={pages.more}
          />
        )}
      </Loaded>
    </Card>
  );
}

const DEAREST: Column<CostRow>[] = [
  { ...idColumn, sortBy: ({ session_id }) => session_id },
  {
    id: "agent",
    title: "Agent",
    sortBy: ({ agent_id }) => agent_id,
    cell: ({ agent_id }) => agent_id && <Text>{agent_id}</Text>,
  },
  textColumn("model", "Latest model"),
  countColumn("calls", "Calls", ({ model_calls }) => model_calls),
  countColumn("tokens", "Tokens", ({ total_tokens }) => total_tokens),
  moneyColumn("cost_usd", "Cost", {
    hrefOf: ({ session_id }) => `${uiPath("sessions", session_id!)}?tab=calls`,
  }),
  callTimes(),
];
