import { Page } from "../../app/page.tsx";

export function NowView() {
  return <Page title="Now">{null}</Page>;
}
