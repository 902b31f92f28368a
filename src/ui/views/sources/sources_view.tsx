import type { SourceOfCalls } from "../../../contract/costs/sources.ts";
import { Page } from "../../app/page.tsx";
import { count, plural } from "../../format/number.ts";
import { usePages } from "../../hooks/data.ts";
import { Badge, Card, type Tone } from "../../parts/card.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { AgentCell, countColumn, None } from "../cells.tsx";

/** The sources of calls, with the calls that several of them have seen, and what logs and telemetry are known to leave out. */
export function SourcesView() {
  const sources = usePages<SourceOfCalls>("/sources", { refreshMs: 30_000 });
  // Those of a log are the same on each machine.
  const bounds = new Map(
    (sources.value ?? []).filter(({ holes }) => holes.length > 0).map((
      { source, agent_id, machine, holes },
    ) => [JSON.stringify([source, agent_id, source === "otlp" && machine]), { agent_id, holes }]),
  );
  return (
    <Page title="Sources">
      <Card title="Where calls come from">
        <Loaded data={sources} empty={NONE}>
          {(rows) => (
            <Table
              caption="Sources of calls"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ source, agent_id, machine }) => JSON.stringify([source, agent_id, machine])}
              source={{ path: "/sources", name: "sources" }}
              more={sources.more}
              foot="A call that several have seen is booked once, from the most trusted one"
            />
          )}
        </Loaded>
      </Card>
      {bounds.size > 0 && (
        <Card title="What is left out">
          {[...bounds].map(([key, { agent_id, holes }]) => (
            <section key={key}>
              <h3>
                <Text>{agent_id!}</Text>: a lower bound
              </h3>
              <ul>
                {holes.map((hole) => (
                  <li key={hole}>
                    <Text>{hole}</Text>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </Card>
      )}
    </Page>
  );
}

const NONE = (
  <Empty title="No calls yet" command="purser import">
    Calls come from the gateway, runs, reports, and the logs of coding agents.
  </Empty>
);

const TONES: Record<string, Tone> = { active: "good", incomplete: "warning", unreadable: "bad" };

const COLUMNS: Column<SourceOfCalls>[] = [
  {
    id: "source",
    title: "Source",
    sortBy: true,
    cell: ({ source, lower_bound }) => (
      <>
        <Text>{source ?? "not recorded"}</Text>
        {lower_bound && <div class="sub">lower bound</div>}
      </>
    ),
  },
  {
    id: "agent_id",
    title: "Agent",
    sortBy: true,
    cell: ({ agent_id }) =>
      agent_id === null ? <span class="muted">all</span> : <AgentCell agent_id={agent_id} />,
  },
  {
    id: "machine",
    title: "Machine",
    sortBy: true,
    cell: ({ machine }) => machine === null ? <None /> : <Text>{machine}</Text>,
  },
  {
    id: "state",
    title: "State",
    sortBy: true,
    cell: ({ state, fault }) => (
      <>
        <Badge tone={TONES[state] ?? "neutral"}>{state}</Badge>
        {fault !== null && (
          <div class="sub">
            <Text>{fault}</Text>
          </div>
        )}
      </>
    ),
  },
  countColumn("model_calls", "Calls", ({ model_calls }) => model_calls),
  {
    id: "cost_usd",
    title: "Cost",
    isMoney: true,
    sortBy: true,
    cell: ({ cost_usd, plan_usd }) => (
      <>
        <Money usd={cost_usd} />
        {plan_usd !== undefined && (
          <div class="sub">
            plan value <Money usd={plan_usd} />
          </div>
        )}
      </>
    ),
  },
  countColumn("seen_alone", "Seen alone", ({ seen_alone }) => seen_alone),
  {
    ...countColumn<SourceOfCalls>(
      "seen_with_others",
      "With others",
      ({ seen_with_others }) => seen_with_others,
    ),
    cell: ({ seen_with_others, conflicts }) => (
      <>
        {count(seen_with_others)}
        {conflicts > 0 && <div class="sub">{count(conflicts)} with other counts</div>}
      </>
    ),
  },
  countColumn("amended_calls", "Amended", ({ amended_calls }) => amended_calls),
  {
    id: "last_at",
    title: "Last call",
    isNumber: true,
    sortBy: true,
    cell: ({ first_at, last_at }) => (
      <>
        <Time at={last_at} />
        <div class="sub">
          first <Time at={first_at} />
        </div>
      </>
    ),
  },
  {
    id: "imported_at",
    title: "Last import",
    isNumber: true,
    sortBy: true,
    cell: ({ imported_at, files }) =>
      imported_at === null ? <None /> : (
        <>
          <Time at={imported_at} />
          <div class="sub">{plural(files, "file")}</div>
        </>
      ),
  },
  {
    ...countColumn<SourceOfCalls>("unmetered", "Without usage", ({ unmetered }) => unmetered),
    cell: ({ unmetered, rollups, malformed, duplicates }) => (
      <>
        {count(unmetered)}
        {rollups > 0 && <div class="sub">{plural(rollups, "sum")} alone</div>}
        {malformed > 0 && <div class="sub">{count(malformed)} malformed</div>}
        {duplicates > 0 && <div class="sub">{count(duplicates)} repeated</div>}
      </>
    ),
  },
];
