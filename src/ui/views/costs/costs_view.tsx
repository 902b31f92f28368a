import { Page } from "../../app/page.tsx";

export function CostsView() {
  return <Page title="Costs">{null}</Page>;
}
