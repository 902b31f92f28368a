import type { ComponentChildren } from "preact";
import { Page } from "../../app/page.tsx";
import { useRoute } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { budgetsHref } from "../links.ts";

const TABS = [
  { path: [], title: "Limits" },
  { path: ["alerts"], title: "Alerts" },
  { path: ["refusals"], title: "Refusals" },
];

/** A page of the section, with the links to its main pages. */
export function SectionPage({ title, filters, children }: {
  title: string;
  filters?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { parts: [, kind] } = useRoute();
  const current = kind === "alerts" || kind === "refusals" ? kind : undefined;
  return (
    <Page title={title} filters={filters}>
      <nav class="tabs" aria-label="Budgets and alerts">
        {TABS.map(({ path, title }) => (
          <Link key={title} href={budgetsHref(...path)} current={path[0] === current}>{title}</Link>
        ))}
      </nav>
      {children}
    </Page>
  );
}
