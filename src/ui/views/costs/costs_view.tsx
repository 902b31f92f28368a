import { Page } from "../../app/page.tsx";
import { hrefWith, useRoute } from "../../hooks/route.ts";
import { Segments } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/loaded.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Caching } from "./caching.tsx";
import { Compare } from "./compare.tsx";
import { Coverage } from "./coverage.tsx";
import { CostFilters } from "./filters.tsx";
import { Forecast } from "./forecast.tsx";
import { Overview } from "./overview.tsx";
import { hrefTo } from "./scope.ts";
import { DEFAULT_SPAN, SPANS } from "./span.ts";

/** The pages of the section; those without a span have a fixed one. */
const PAGES = [
  { id: "", title: "Over time", View: Overview, hasSpan: true },
  { id: "compare", title: "Compare", View: Compare, hasSpan: false },
  { id: "caching", title: "Caching", View: Caching, hasSpan: true },
  { id: "coverage", title: "Coverage", View: Coverage, hasSpan: true },
  { id: "forecast", title: "Forecast", View: Forecast, hasSpan: false },
];

/** The costs: over time, compared, cached, covered by prices, and to the end of the month. */
export function CostsView() {
  const id = useRoute().parts[1] ?? "";
  const page = PAGES.find((page) => page.id === id);
  return (
    <Page
      title="Costs"
      coverage={null}
      filters={page?.hasSpan ? <SpanFilter /> : page?.id === "compare" ? <PeriodFilter /> : null}
    >
      <div class="cost-bar">
        <Tabs
          label="Costs"
          current={id}
          items={PAGES.map(({ id, title }) => ({ id, title, href: hrefTo(id) }))}
        />
        {page && <CostFilters />}
      </div>
      {page ? <page.View /> : <Empty title="No page has this address">Choose one of those above.</Empty>}
    </Page>
  );
}

function SpanFilter() {
  const { query } = useRoute();
  const isOwn = query.has("from") || query.has("to");
  const current = isOwn ? undefined : query.get("span") ?? DEFAULT_SPAN;
  return (
    <nav class="segments" aria-label="Span (days of UTC)">
      {SPANS.map(({ value, label }) => (
        <Link
          key={value}
          href={hrefWith({
            span: value === DEFAULT_SPAN ? undefined : value,
            from: undefined,
            to: undefined,
          })}
          current={value === current}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function PeriodFilter() {
  return (
    <Segments
      name="period"
      label="Period"
      fallback="week"
      choices={[{ value: "week", label: "Week" }, { value: "month", label: "Month" }]}
    />
  );
}
