import type { SessionCosts } from "../../../contract/sessions.ts";
import type { CostEvent } from "../../../contract/usage.ts";
import { useState } from "preact/hooks";
import { useData } from "../../hooks/data.ts";
import { request } from "../../hooks/request.ts";
import { apiPath, hrefWith } from "../../hooks/route.ts";
import { Badge } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { countColumn, timeColumn } from "../cells.tsx";
import { StatedCost, UnpricedParts } from "./call_notes.tsx";

/** A name with more characters is broken anywhere, so that the table fits a screen of 1,024 pixels. */
const LONG_NAME = 28;

/** The columns of a session's calls; an agent is named where it is not that of the session. */
const columnsOf = (agentId: string): Column<CostEvent>[] => [
  timeColumn("at", "Time", "utc"),
  {
    id: "model",
    title: "Model",
    sortBy: true,
    cell: ({ provider, model, tools, agent_id }) => {
      const facts = [
        agent_id !== agentId && `agent ${agent_id}`,
        tools.length > 0 && `calls ${tools.join(", ")}`,
      ];
      const name = `${provider}:${model}`;
      return (
        <>
          <span class={name.length > LONG_NAME ? "call-model" : "one-line"}>
            <Text>{name}</Text>
          </span>
          <div class="sub">
            <Text>{facts.filter(Boolean).join("; ")}</Text>
          </div>
        </>
      );
    },
  },
  countColumn("input", "Input", ({ input_tokens }) => input_tokens),
  countColumn("cached", "Cached", ({ cache_read_tokens }) => cache_read_tokens),
  countColumn("output", "Output", ({ output_tokens }) => output_tokens),
  countColumn("reasoning", "Reasoning", ({ reasoning_tokens }) => reasoning_tokens),
  {
    id: "cost_usd",
    title: "Cost",
    isMoney: true,
    sortBy: true,
    cell: ({ call_id, cost_usd, billing, plan_usd, estimated, outcome, run_id }) => (
      <>
        {run_id === null
          ? <Money usd={cost_usd} />
          : (
            <Link href={hrefWith({ tab: undefined, call: call_id, step: undefined, run: undefined })}>
              <Money usd={cost_usd} />
            </Link>
          )}
        {billing === "plan" && (
          <div class="sub">
            a plan pays <Money usd={plan_usd} />
          </div>
        )}
        {estimated && (
          <div>
            <Badge tone="warning">estimated</Badge>
          </div>
        )}
        {outcome && (
          <div>
            <Badge tone="warning">{outcome}</Badge>
          </div>
        )}
      </>
    ),
  },
  {
    id: "source",
    title: "Price",
    sortBy: ({ price_source }) => price_source,
    cell: ({ price_source, unpriced_parts, stated_cost_usd, stated_cost_reason }) => (
      <>
        <span class="muted one-line">
          <Text>{price_source.split("@")[0]!}</Text>
          {price_source.includes("@") && (
            <>
              <wbr />
              <Text>{price_source.slice(price_source.indexOf("@"))}</Text>
            </>
          )}
        </span>
        <UnpricedParts unpriced_parts={unpriced_parts} />
        <StatedCost stated_cost_usd={stated_cost_usd} stated_cost_reason={stated_cost_reason} />
      </>
    ),
  },
];

/** The booked calls of a session, in order, with the price of each. */
export function CallTable({ sessionId, agentId }: { sessionId: string; agentId: string }) {
  const path = apiPath(`/sessions/${encodeURIComponent(sessionId)}/costs`, { limit: 200 });
  const first = useData<SessionCosts>(path);
  const [rest, setRest] = useState<{ calls: CostEvent[]; next: string | undefined }>();
  const next = rest ? rest.next : first.next;
  const more = () =>
    request<SessionCosts>(next!).then(
      ({ value, next }) => setRest({ calls: [...rest?.calls ?? [], ...value.calls], next }),
      () => first.reload(),
    );
  return (
    <Loaded
      data={first}
      isEmpty={({ calls }) => calls.length === 0}
      empty={<Empty title="No calls yet">A call is booked as soon as its model has answered.</Empty>}
    >
      {({ calls }) => (
        <Table
          caption="Calls of the session"
          columns={columnsOf(agentId)}
          rows={[...calls, ...rest?.calls ?? []]}
          keyOf={({ call_id }) => call_id}
          source={{ path, name: `calls-${sessionId}`, field: "calls" }}
          more={next === undefined ? undefined : more}
        />
      )}
    </Loaded>
  );
}
