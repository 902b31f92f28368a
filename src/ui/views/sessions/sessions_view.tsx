import { Page } from "../../app/page.tsx";

export function SessionsView() {
  return <Page title="Sessions">{null}</Page>;
}
