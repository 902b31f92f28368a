import type { ComponentChildren } from "preact";
import { Page } from "../../app/page.tsx";
import { useRoute } from "../../hooks/route.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { budgetsHref } from "../links.ts";

const LIMITS = "limits";

const TABS = [
  { id: LIMITS, title: "Limits", href: budgetsHref() },
  { id: "alerts", title: "Alerts", href: budgetsHref("alerts") },
  { id: "approvals", title: "Approvals", href: budgetsHref("approvals") },
  { id: "refusals", title: "Refusals", href: budgetsHref("refusals") },
];

/** A page of the section, with the links to its main pages. */
export function SectionPage({ title, filters, children }: {
  title: string;
  filters?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { parts: [, kind] } = useRoute();
  const current = TABS.find(({ id }) => id === kind)?.id ?? LIMITS;
  return (
    <Page title={title} filters={filters}>
      <Tabs label="Budgets and alerts" items={TABS} current={current} />
      {children}
    </Page>
  );
}
