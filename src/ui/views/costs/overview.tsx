import type { CostRow, CostTotal } from "../../../contract/costs.ts";
import { compact, count, plural } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData, usePages } from "../../hooks/data.ts";
import { hrefWith, useRoute } from "../../hooks/route.ts";
import { Banner, Card, Stat, Stats } from "../../parts/card.tsx";
import { Segments, Select } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { CostChart, SPLIT_LIMIT } from "./cost_chart.tsx";
import { CostTable } from "./cost_table.tsx";
import { Difference } from "./difference.tsx";
import { GROUPS } from "./group.tsx";
import { costPath, hrefTo, type Span, spanOf } from "./scope.ts";

const REFRESH = { refreshMs: 30_000 };

/** The costs of a span: the total, the course of it, and its parts. */
export function Overview() {
  const { query } = useRoute();
  const { title, isDay, ...span } = spanOf(query, useNow(60_000));
  const split = query.get("split") ?? "model";
  const by = query.get("by") ?? "model";
  const within = { from: span.from, to: span.to };
  const total = useData<CostTotal>(costPath("/costs/total", query, { ...span }), REFRESH);
  const course = useData<CostRow[]>(
    costPath("/costs", query, {
      group_by: isDay ? "hour" : "day",
      split_by: split,
      ...within,
      limit: SPLIT_LIMIT,
    }),
    REFRESH,
  );
  const path = costPath("/costs", query, { group_by: by, ...within, limit: 100, sort: sortOf(by) });
  const groups = usePages<CostRow>(path, REFRESH);
  return (
    <>
      <Loaded data={total}>
        {(value) => <Figures total={value} title={title} isCompared={span.compare_from !== undefined} />}
      </Loaded>
      <Card
        title="Cost over time"
        aside={
          <Segments
            name="split"
            label="Stacked by"
            fallback="model"
            choices={[
              { value: "model", label: "Model" },
              { value: "agent", label: "Agent" },
              { value: "provider", label: "Provider" },
            ]}
          />
        }
      >
        <Loaded data={course} isEmpty={(rows) => rows.length === 0} empty={<NoCalls title={title} />}>
          {(rows) => (
            <CostChart
              rows={rows}
              split={split}
              span={{ title, isDay, ...within }}
              total={total.value?.cost_usd}
            />
          )}
        </Loaded>
      </Card>
      <Card
        title="Parts"
        aside={<Select name="by" label="Group by" choices={GROUPS.slice(1)} all="By model" />}
      >
        <Loaded data={groups} isEmpty={(rows) => rows.length === 0} empty={<NoCalls title={title} />}>
          {(rows) => (
            <CostTable pages={groups} rows={rows} group={by} path={path} total={total.value?.cost_usd} />
          )}
        </Loaded>
      </Card>
    </>
  );
}

/** Groups that have a time are listed latest first, unless the dearest are to be first. */
function sortOf(by: string): string | undefined {
  return by === "session" || by === "run" ? "cost" : undefined;
}

function Figures({ total, title, isCompared }: {
  total: CostTotal;
  title: Span["title"];
  isCompared: boolean;
}) {
  const uncounted = total.unpriced_calls + total.partly_priced_calls;
  return (
    <>
      {uncounted > 0 && (
        <Banner action={<Link href={hrefTo("coverage")}>See which, and the fix</Link>}>
          {count(uncounted)} of {plural(total.model_calls, "call")} {uncounted === 1 ? "has" : "have"}{" "}
          no price, or not for all parts: the cost is higher than it says.
        </Banner>
      )}
      <Card title={`Spent ${title}`}>
        <Stats>
          <Stat
            label="Cost"
            note={isCompared && total.previous && (
              <>
                <Difference usd={total.difference_usd} /> against <Money usd={total.previous.cost_usd} />{" "}
                of the same span before
              </>
            )}
          >
            <Link href={hrefWith({ by: "day" })}>
              <Money usd={total.cost_usd} />
            </Link>
          </Stat>
          <Stat label="Calls" note={total.previous && `${count(total.previous.model_calls)} before`}>
            <Link href={hrefWith({ by: "session" })}>{count(total.model_calls)}</Link>
          </Stat>
          <Stat
            label="Input tokens"
            note={`${compact(total.cache_read_tokens)} cached`}
          >
            <Link href={hrefTo("caching")}>
              <span title={count(total.input_tokens)}>{compact(total.input_tokens)}</span>
            </Link>
          </Stat>
          <Stat label="Output tokens" note={`${compact(total.reasoning_tokens)} of reasoning`}>
            <Link href={hrefWith({ by: undefined, sort: "-tokens" })}>
              <span title={count(total.output_tokens)}>{compact(total.output_tokens)}</span>
            </Link>
          </Stat>
        </Stats>
      </Card>
    </>
  );
}

function NoCalls({ title }: { title: string }) {
  return (
    <Empty title={`No calls ${title}`} command="purser report calls.jsonl">
      Run an agent, send calls through the gateway, or report those of other frameworks.
    </Empty>
  );
}
