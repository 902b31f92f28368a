import { Page } from "../../app/page.tsx";
import { useRoute } from "../../hooks/route.ts";
import { Empty } from "../../parts/loaded.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Caching } from "./caching.tsx";
import { Compare } from "./compare.tsx";
import { Coverage } from "./coverage.tsx";
import { CostFilters } from "./filters.tsx";
import { Forecast } from "./forecast.tsx";
import { Overview } from "./overview.tsx";
import { hrefTo } from "./scope.ts";
import { SpanFilter } from "../spans/span_filter.tsx";

/** The pages of the section; those without a span have a fixed one. */
const PAGES = [
  { id: "", title: "Over time", View: Overview, hasSpan: true },
  { id: "compare", title: "Compare", View: Compare, hasSpan: true },
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
      filters={page?.hasSpan ? <SpanFilter /> : null}
    >
      <div class="cost-bar">
        <Tabs
          label="Costs"
          current={id}
          items={PAGES.map(({ id, title }) => ({ id, title, href: hrefTo(id) }))}
        />
        {page && <CostFilters hasSpan={page.hasSpan} />}
      </div>
      {page ? <page.View /> : <Empty title="No page has this address">Choose one of those above.</Empty>}
    </Page>
  );
}
