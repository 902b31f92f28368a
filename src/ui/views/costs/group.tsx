import type { ComponentChildren } from "preact";
import type { CostRow } from "../../../contract/costs.ts";
import { escapeText } from "../../../kernel/text.ts";
import { hrefWith, uiPath } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { nextDay } from "./utc_days.ts";

/** The groups of a report with their names on the screen. */
export const GROUPS = [
  { value: "model", label: "By model" },
  { value: "agent", label: "By agent" },
  { value: "provider", label: "By provider" },
  { value: "session", label: "By session" },
  { value: "run", label: "By run" },
  { value: "key", label: "By key" },
  { value: "day", label: "By day" },
  { value: "hour", label: "By hour" },
];

/** Returns the group of a row as a text: what a chart, a table and a download call it. */
export function nameOf(row: CostRow, group: string): string {
  if (group.startsWith("tag:")) return row.tag_value ?? `without ${group.slice("tag:".length)}`;
  switch (group) {
    case "model":
      return `${row.provider}:${row.model}`;
    case "provider":
      return row.provider ?? "";
    case "session":
      return row.session_id ?? "";
    case "run":
      return row.run_id ?? "";
    case "key":
      return row.key_id ?? "without a key";
    case "day":
      return row.day ?? "";
    case "hour":
      return row.hour?.slice(0, 16).replace("T", " ") ?? "";
    default:
      return row.agent_id ?? "";
  }
}

/** Returns the page with the calls that a row sums; undefined where there is none. */
export function hrefOf(row: CostRow, group: string): string | undefined {
  if (group.startsWith("tag:")) {
    return row.tag_value == null
      ? undefined
      : hrefWith({ tag: `${group.slice("tag:".length)}:${row.tag_value}`, by: undefined });
  }
  switch (group) {
    case "model":
      return hrefWith({ model: nameOf(row, group), by: "agent", split: "agent", sort: undefined });
    case "provider":
      return hrefWith({ provider: row.provider, by: "model", split: undefined, sort: undefined });
    case "session":
      return uiPath("sessions", row.session_id!);
    case "run":
      return row.session_id == null
        ? undefined
        : `${uiPath("sessions", row.session_id)}?${new URLSearchParams({ run: row.run_id! })}`;
    case "key":
      return row.key_id == null ? undefined : hrefWith({ key_id: row.key_id, by: "model", sort: undefined });
    case "day":
      return hrefOfDay(row.day!);
    case "hour":
      return undefined;
    default:
      return hrefWith({ agent_id: row.agent_id, by: "model", split: undefined, sort: undefined });
  }
}

/** Returns the page of one UTC day. */
export function hrefOfDay(day: string): string {
  return hrefWith({ from: day, to: nextDay(day), span: undefined, by: undefined, sort: undefined });
}

/** The name of a row's group, linked to the calls that it sums. */
export function GroupLink(
  { row, group, children }: { row: CostRow; group: string; children?: ComponentChildren },
) {
  const href = hrefOf(row, group);
  const content = children ?? escapeText(nameOf(row, group));
  return href === undefined ? <>{content}</> : <Link href={href}>{content}</Link>;
}
