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
import { Time } from "../../parts/time.tsx";
import { countColumn } from "../cells.tsx";

const COLUMNS: Column<CostEvent>[] = [
  { id: "at", title: "Time", sortBy: ({ at }) => at, cell: ({ at }) => <Time at={at} as="utc" /> },
  {
    id: "model",
    title: "Model",
    sortBy: ({ model }) => model,
    cell: ({ provider, model }) => (
      <span class="one-line">
        <Text>{`${provider}:${model}`}</Text>
      </span>
    ),
  },
  {
    id: "tools",
    title: "Tools",
    sortBy: ({ tools }) => tools.join(),
    cell: ({ tools }) => tools.length > 0 ? <Text>{tools.join(", ")}</Text> : "–",
  },
  countColumn("input", "Input", ({ input_tokens }) => input_tokens),
  countColumn("cached", "Cached", ({ cache_read_tokens }) => cache_read_tokens),
  countColumn("output", "Output", ({ output_tokens }) => output_tokens),
  countColumn("reasoning", "Reasoning", ({ reasoning_tokens }) => reasoning_tokens),
  {
    id: "cost_usd",
    title: "Cost",
    isMoney: true,
    sortBy: ({ cost_usd }) => cost_usd,
    cell: ({ call_id, cost_usd, estimated, run_id }) => (
      <>
        {estimated && (
          <>
            <Badge tone="warning">estimated</Badge>
          </>
        )}
        {run_id === null
          ? <Money usd={cost_usd} />
          : (
            <Link href={hrefWith({ tab: undefined, call: call_id, step: undefined, run: undefined })}>
              <Money usd={cost_usd} />
            </Link>
          )}
      </>
    ),
  },
  {
    id: "source",
    title: "Price",
    sortBy: ({ price_source }) => price_source,
    cell: ({ price_source, stated_cost_usd, stated_cost_reason }) => (
      <span class="muted one-line" title={stated_cost_reason}>
        <Text>{price_source}</Text>
        {stated_cost_usd !== undefined && (
          <>
            , not <Money usd={stated_cost_usd} /> as stated
          </>
        )}
      </span>
    ),
  },
];

/** The booked calls of a session, in order, with the price of each. */
export function CallTable({ sessionId }: { sessionId: string }) {
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
          columns={COLUMNS}
          rows={[...calls, ...rest?.calls ?? []]}
          keyOf={({ call_id }) => call_id}
          source={{ path, name: `calls-${sessionId}`, field: "calls" }}
          more={next === undefined ? undefined : more}
        />
      )}
    </Loaded>
  );
}
