import type { ComponentChildren } from "preact";
import type { CostRow } from "../../../contract/costs.ts";
import { type Dimension, DIMENSIONS, GROUPED, nameIn } from "../../../contract/costs/dimensions.ts";
import { escapeText } from "../../../kernel/text.ts";
import { hrefWith, type QueryChange, uiPath } from "../../hooks/route.ts";
import { Link } from "../../parts/link.tsx";
import { runsHref } from "../links.ts";
import { hrefTo, isNamed, tagsWith } from "./scope.ts";
import { useAccess } from "../../hooks/session.ts";
import { instantOf, minuteIn, timeOf } from "../spans/days.ts";
import { endOfBar } from "../spans/span.ts";

/** The groups of a report with their names on the screen, models first. */
export const GROUPS = ["model", ...GROUPED.filter((name) => name !== "model"), "day", "hour"]
  .map((value) => ({ value, label: `By ${value}` }));

/** Returns the name of a group in words: `model`, `tag customer`. */
export function titleOf(group: string): string {
  return escapeText(group.replace(/^tag:/, "tag "));
}

const isDimension = (group: string): group is Dimension => Object.hasOwn(DIMENSIONS, group);

/** Returns the identity of the row of a group: its name, and of an API key its id, since a name may have had several keys. */
export function keyOf(row: CostRow, group: string): string {
  return isDimension(group) && isNamed(group) ? row[DIMENSIONS[group].field] ?? "" : nameOf(row, group);
}

/** Returns the group of a row as a text: what a chart, a table and a download call it. */
export function nameOf(row: CostRow, group: string, timeZone = "UTC"): string {
  if (group.startsWith("tag:")) return row.tag_value ?? `without ${group.slice("tag:".length)}`;
  if (group === "day") return row.day ?? "";
  if (group === "hour") return minuteIn(timeZone, Date.parse(row.hour!)).slice(0, 16);
  return isDimension(group) ? nameIn(row, group) ?? `without a ${group}` : "";
}

/** Returns the page with the sum of a row, of the same filters and span; undefined where there is none. */
export function hrefOf(row: CostRow, group: string, timeZone: string): string | undefined {
  switch (group) {
    case "session":
      return uiPath("sessions", row.session_id!);
    case "run":
      return runsHref(row.session_id);
    case "day":
    case "hour": {
      const first = instantOf((row.hour ?? row.day)!, timeZone);
      return hrefOfTime(
        first,
        endOfBar({ isHourly: group === "hour", time_zone: timeZone }, first),
        timeZone,
      );
    }
    default: {
      const filter = filterOf(row, group);
      const by = group === "model" ? "agent" : undefined;
      return filter && hrefWith({ ...filter, by, split: by, sort: undefined });
    }
  }
}

/** Returns the filter that selects the calls of a group; undefined where there is none. */
export function filterOf(row: CostRow, group: string): QueryChange | undefined {
  if (group.startsWith("tag:")) {
    return row.tag_value == null
      ? undefined
      : { tag: tagsWith(`${group.slice("tag:".length)}:${row.tag_value}`) };
  }
  if (!isDimension(group)) return undefined;
  const { field } = DIMENSIONS[group];
  const value = group === "model" ? nameOf(row, group) : row[field];
  return value == null ? undefined : { [field]: value };
}

/** Returns the costs of a day of a zone or an hour, with the filters and groups of the URL, and no more of it than the span has. */
export function hrefOfTime(
  first: number,
  end: number,
  timeZone: string,
  within = new URLSearchParams(location.search),
): string {
  const [from, to] = [within.get("from"), within.get("to")].map((time) =>
    time ? instantOf(time, timeZone) : NaN
  );
  const by = within.get("by");
  return hrefTo("", {
    span: undefined,
    split: within.get("split") ?? undefined,
    by: by === null || by === "day" || by === "hour" ? undefined : by,
    from: timeOf(from! > first ? from! : first, timeZone),
    to: timeOf(to! < end ? to! : end, timeZone),
  });
}

/** The name of a row's group, linked to the calls that it sums. */
export function GroupLink(
  { row, group, children }: { row: CostRow; group: string; children?: ComponentChildren },
) {
  const { timeZone } = useAccess().session.calendar;
  return (
    <Link href={hrefOf(row, group, timeZone)}>{children ?? escapeText(nameOf(row, group, timeZone))}</Link>
  );
}
