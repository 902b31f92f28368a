import type { ComponentType } from "preact";
import type { Access } from "../hooks/session.ts";
import { NowView } from "../views/now/now_view.tsx";
import { CostsView } from "../views/costs/costs_view.tsx";
import { BillsView } from "../views/bills/bills_view.tsx";
import { BudgetsView } from "../views/budgets/budgets_view.tsx";
import { SessionsView } from "../views/sessions/sessions_view.tsx";
import { SourcesView } from "../views/sources/sources_view.tsx";
import { OwnView } from "../views/own/own_view.tsx";
import { KeysView } from "../views/keys/keys_view.tsx";

/** A section of the dashboard. */
export interface Section {
  /** The first segment of its pages below `/ui/`; '' is the home page. */
  path: string;
  title: string;
  /** The icon, as the path of a picture of 20 by 20. */
  icon: string;
  /** Shows all pages of the section; `useRoute().parts` has the segments after the first. */
  View: ComponentType;
  /** Shows any key its own spending; without a key there is none. The other sections need the scope read. */
  isOwn?: true;
}

/** The sections, in the order of the navigation. */
export const SECTIONS: readonly Section[] = [
  { path: "", title: "Now", icon: "M3 11h3l2.5-6 3.5 11 2.5-7 1 2H18", View: NowView },
  { path: "costs", title: "Costs", icon: "M3 17h14M5 14v-4M9 14V6M13 14V9M17 14V4", View: CostsView },
  {
    path: "budgets",
    title: "Budgets & alerts",
    icon: "M3.5 14a6.5 6.5 0 1 1 13 0M10 14l3.5-4.5M10 14h.01",
    View: BudgetsView,
  },
  { path: "sessions", title: "Sessions", icon: "M4 5h12M4 10h12M4 15h8", View: SessionsView },
  { path: "sources", title: "Sources", icon: "M4 4l6 6M16 4l-6 6M10 10v7M7 14l3 3 3-3", View: SourcesView },
  {
    path: "bills",
    title: "Bills",
    icon: "M5 3h10v14l-2.5-2-2.5 2-2.5-2L5 17zM8 7h4M8 10h4",
    View: BillsView,
  },
  {
    path: "keys",
    title: "Keys & channels",
    icon: "M12.5 4a3.5 3.5 0 1 1-3 5.3L4 15v2h2.5v-2h2v-2l1.6-1.6M13 7.5h.01",
    View: KeysView,
  },
  {
    path: "me",
    title: "My spending",
    icon: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6M4 17a6 6 0 0 1 12 0",
    View: OwnView,
    isOwn: true,
  },
];

/** The sections of a session; the first is that of the home page. */
export function sectionsOf({ session, may }: Pick<Access, "session" | "may">): Section[] {
  return SECTIONS.filter(({ isOwn }) => isOwn ? session.access === "signed_in" : may("read"));
}
