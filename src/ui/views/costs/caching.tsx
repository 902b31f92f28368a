import type { Caching as CachingReport, CachingRow } from "../../../contract/costs/caching.ts";
import type { CostTotal } from "../../../contract/costs.ts";
import { compact, count, percent } from "../../format/number.ts";
import { useData } from "../../hooks/data.ts";
import { useRoute } from "../../hooks/route.ts";
import { Badge, Card, Stat, Stats } from "../../parts/card.tsx";
import { Segments } from "../../parts/filters.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { CoverageNote } from "../coverage.tsx";
import { countColumn, Share } from "../cells.tsx";
import { GroupLink, nameOf } from "./group.tsx";
import { costPath, hrefTo } from "./scope.ts";
import { useSpan } from "../spans/span.ts";

/** The savings of prompt caches: what they were, and what they could be. */
export function Caching() {
  const { query } = useRoute();
  const { from, to, time_zone, title } = useSpan();
  const by = query.get("by") ?? "model";
  const path = costPath("/costs/caching", query, { from, to, time_zone, group_by: by });
  const total = useData<CostTotal>(costPath("/costs/total", query, { from, to, time_zone }));
  const caching = useData<CachingReport>(path);
  return (
    <Loaded
      data={caching}
      isEmpty={({ input_tokens }) => input_tokens === 0}
      empty={
        <Card title={`Prompt caching ${title}`}>
          <Empty title="No input tokens in this span" command="purser cost --by model">
            Calls with their cached tokens show here once they are booked.
          </Empty>
        </Card>
      }
    >
      {(report) => (
        <>
          <CoverageNote of={total.value} href={hrefTo("coverage")} />
          <Card title={`Prompt caching ${title}`}>
            <Figures report={report} />
          </Card>
          <Card
            title="Where"
            aside={
              <Segments
                name="by"
                label="Group by"
                fallback="model"
                choices={[
                  { value: "model", label: "Model" },
                  { value: "agent", label: "Agent" },
                  { value: "provider", label: "Provider" },
                ]}
              />
            }
          >
            <Table
              caption={`Caching by ${by}`}
              columns={columnsOf(by)}
              rows={report.rows}
              keyOf={(row) => nameOf(row as never, by)}
              source={{ path, name: `caching-by-${by}`, field: "rows" }}
            />
            {report.notes.map((note) => <p key={note} class="muted factor-note">{note}</p>)}
          </Card>
        </>
      )}
    </Loaded>
  );
}

function Figures({ report }: { report: CachingReport }) {
  const isLoss = report.saved_usd !== null && report.saved_usd < 0;
  return (
    <Stats>
      <Stat
        label="Saved"
        note={isLoss ? "writing to caches cost more than reading saved" : "against no cache at all"}
      >
        <Money usd={report.saved_usd} />
      </Stat>
      <Stat
        label="Hit rate"
        note={`${compact(report.cache_read_tokens)} of ${compact(report.input_tokens)} input tokens`}
      >
        {report.hit_rate === null ? "–" : percent(report.hit_rate)}
      </Stat>
      <Stat label="Could be saved, at most" note="if all of the other input were read from a cache">
        <Money usd={report.possible_usd} />
      </Stat>
      <Stat label="Written to caches" note="input tokens">
        <span title={count(report.cache_write_tokens)}>{compact(report.cache_write_tokens)}</span>
      </Stat>
    </Stats>
  );
}

function columnsOf(by: string): Column<CachingRow>[] {
  return [
    {
      id: "name",
      title: by[0]!.toUpperCase() + by.slice(1),
      sortBy: (row) => nameOf(row as never, by),
      cell: (row) => (
        <>
          <GroupLink row={row as never} group={by} />
          {row.cache_read_tokens === 0 && row.cache_write_tokens === 0 && (
            <>
              {" "}
              <Badge>never cached</Badge>
            </>
          )}
        </>
      ),
    },
    countColumn("input", "Input tokens", ({ input_tokens }) => input_tokens),
    countColumn("read", "Read from cache", ({ cache_read_tokens }) => cache_read_tokens),
    {
      id: "hit_rate",
      title: "Hit rate",
      isNumber: true,
      sortBy: true,
      cell: ({ hit_rate }) => <Share share={hit_rate} />,
    },
    {
      id: "saved",
      title: "Saved",
      isMoney: true,
      sortBy: ({ saved_usd }) => saved_usd,
      cell: (row) => (
        <GroupLink row={row as never} group={by}>
          <Money usd={row.saved_usd} />
        </GroupLink>
      ),
    },
    {
      id: "possible",
      title: "Possible, at most",
      isMoney: true,
      sortBy: ({ possible_usd }) => possible_usd,
      cell: (row) => (
        <GroupLink row={row as never} group={by}>
          <Money usd={row.possible_usd} />
        </GroupLink>
      ),
    },
  ];
}
