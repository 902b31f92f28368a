import { useRoute } from "../../hooks/route.ts";
import { Empty } from "../../parts/loaded.tsx";
import { ApprovalsPage } from "../approvals/approvals_page.tsx";
import { AlertPage } from "./alert_page.tsx";
import { AlertsPage } from "./alerts_page.tsx";
import { BudgetPage } from "./budget_page.tsx";
import { LimitsPage } from "./limits_page.tsx";
import { RefusalsPage } from "./refusals_page.tsx";
import { RulePage } from "./rule_page.tsx";
import { SectionPage } from "./section_page.tsx";

/**
 * The section of budgets and alerts: `/ui/budgets` has all limits, `/ui/budgets/{budget_id}` one budget, and below
 * `rules`, `alerts`, `approvals` and `refusals` are the other pages.
 */
export function BudgetsView() {
  const { parts: [, kind, id] } = useRoute();
  if (kind === undefined) return <LimitsPage />;
  if (kind === "alerts") return id === undefined ? <AlertsPage /> : <AlertPage key={id} alertId={id} />;
  if (kind === "rules" && id !== undefined) return <RulePage key={id} ruleId={id} />;
  if (kind === "approvals") return <ApprovalsPage />;
  if (kind === "refusals") return <RefusalsPage />;
  if (kind.startsWith("bud_")) return <BudgetPage key={kind} budgetId={kind} />;
  return (
    <SectionPage title="Budgets & alerts">
      <Empty title="No page has this address">Choose one above.</Empty>
    </SectionPage>
  );
}
