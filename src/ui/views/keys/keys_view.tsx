import { Page } from "../../app/page.tsx";
import { uiPath, useRoute } from "../../hooks/route.ts";
import { useAccess } from "../../hooks/session.ts";
import { Segments } from "../../parts/filters.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Audit, AuditFilters } from "./audit.tsx";
import { Channels } from "./channels.tsx";
import { Keys } from "./keys.tsx";

/** The pages of the section; those that only an admin may read are shown to admins. */
const PAGES = [
  { id: "keys", title: "API keys", View: Keys, Filters: StatusFilter },
  { id: "channels", title: "Channels", View: Channels },
  { id: "audit", title: "Audit log", View: Audit, Filters: AuditFilters, isAdmin: true },
];

/** The API keys, the channels of alerts, `/ui/keys/channels`, and the audit log, `/ui/keys/audit`. */
export function KeysView() {
  const id = useRoute().parts[1];
  const isAdmin = useAccess().may("admin");
  const pages = PAGES.filter((page) => isAdmin || !page.isAdmin);
  const { View, Filters, ...current } = pages.find((page) => page.id === id) ?? pages[0]!;
  return (
    <Page title="Keys & channels" filters={Filters && isAdmin ? <Filters /> : null}>
      <Tabs
        label="Keys and channels"
        current={current.id}
        items={pages.map(({ id, title }) => ({
          id,
          title,
          href: uiPath("keys", ...id === "keys" ? [] : [id]),
        }))}
      />
      <View />
    </Page>
  );
}

function StatusFilter() {
  return (
    <Segments
      name="status"
      label="Status"
      fallback=""
      choices={[
        { value: "", label: "All" },
        { value: "active", label: "Active" },
        { value: "expired", label: "Expired" },
        { value: "revoked", label: "Revoked" },
      ]}
    />
  );
}
