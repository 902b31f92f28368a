import type { ComponentChildren } from "preact";
import type { Column } from "../../parts/table.tsx";
import type { Limit } from "./limit.ts";
import { LimitMeter, LimitName, ReachedAt, ResetsAt } from "./limit_cells.tsx";

/** A limit with what it is made from. */
export interface LimitRow<Of> {
  of: Of;
  limit: Limit;
}

/** The columns that every table of limits has. */
export function limitColumns<Of>(
  title: string,
  kindOf?: (row: LimitRow<Of>) => string,
  more?: (row: LimitRow<Of>) => ComponentChildren,
): Column<LimitRow<Of>>[] {
  return [
    {
      id: "name",
      title,
      sortBy: ({ limit }) => limit.name.toLowerCase(),
      cell: (row) => (
        <>
          <LimitName limit={row.limit} kind={kindOf?.(row)} />
          {more?.(row)}
        </>
      ),
    },
    {
      id: "share",
      title: "Used",
      sortBy: ({ limit }) => limit.share,
      cell: ({ limit }) => <LimitMeter limit={limit} />,
    },
    {
      id: "reaches_at",
      title: "Reached",
      sortBy: ({ limit }) => limit.reachesAt,
      cell: ({ limit }) => <ReachedAt limit={limit} />,
    },
    {
      id: "resets_at",
      title: "Resets",
      sortBy: ({ limit }) => limit.resetsAt,
      cell: ({ limit }) => <ResetsAt limit={limit} />,
    },
  ];
}
