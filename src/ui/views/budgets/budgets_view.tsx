import { Page } from "../../app/page.tsx";

export function BudgetsView() {
  return <Page title="Budgets & alerts">{null}</Page>;
}
