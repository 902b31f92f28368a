import { Page } from "../../app/page.tsx";

export function KeysView() {
  return <Page title="Keys & channels">{null}</Page>;
}
