import { Page } from "../../app/page.tsx";
import { uiPath, useRoute } from "../../hooks/route.ts";
import { Segments } from "../../parts/filters.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Channels } from "./channels.tsx";
import { Keys } from "./keys.tsx";

/** The API keys, and the channels of alerts: `/ui/keys/channels`. */
export function KeysView() {
  const current = useRoute().parts[1] === "channels" ? "channels" : "keys";
  return (
    <Page title="Keys & channels" filters={current === "keys" ? <StatusFilter /> : null}>
      <Tabs
        label="Keys and channels"
        current={current}
        items={[
          { id: "keys", title: "API keys", href: uiPath("keys") },
          { id: "channels", title: "Channels", href: uiPath("keys", "channels") },
        ]}
      />
      {current === "keys" ? <Keys /> : <Channels />}
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
