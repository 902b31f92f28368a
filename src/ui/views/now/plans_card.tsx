import type { PlanWindow } from "../../../contract/imports/plan_windows.ts";
import { useData } from "../../hooks/data.ts";
import { Badge, Card } from "../../parts/card.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { moneyColumn } from "../cells.tsx";

const PLANS = "/plans";

const TONES: Readonly<Record<string, "bad" | "warning">> = { ended: "bad" };

const unknown = <span class="muted">unknown</span>;
const timeOr = (at: string | null, none: string) =>
  at === null ? <span class="muted">{none}</span> : <Time at={at} />;

const COLUMNS: Column<PlanWindow>[] = [
  {
    id: "agent_id",
    title: "Plan",
    cell: ({ agent_id, plan, machines, provider }) => (
      <>
        <Text>{plan === null ? agent_id : `${agent_id} ${plan}`}</Text>
        <div class="sub">
          <Text>{provider ?? machines.join(", ")}</Text>
        </div>
      </>
    ),
  },
  { id: "window", title: "Window", cell: ({ window, models }) => <Text>{models ?? window}</Text> },
  {
    id: "used_pct",
    title: "Used",
    isNumber: true,
    sortBy: true,
    cell: ({ used_pct, state, elapsed_pct }) =>
      used_pct === null || state === "reset" ? unknown : (
        <>
          {used_pct}%{elapsed_pct !== null && <div class="sub">{Math.round(elapsed_pct)}% of the time</div>}
        </>
      ),
  },
  { id: "runs_out_at", title: "Runs out", cell: ({ runs_out_at }) => timeOr(runs_out_at, "not before") },
  { id: "resets_at", title: "Resets", cell: ({ resets_at }) => timeOr(resets_at, "unknown") },
  moneyColumn("plan_usd", "Value by API", { none: "unknown" }),
  { id: "measured_at", title: "Measured", cell: ({ measured_at }) => <Time at={measured_at} /> },
  {
    id: "state",
    title: "State",
    cell: ({ state, status }) => (
      <Badge tone={TONES[state] ?? (status === "allowed_warning" ? "warning" : "accent")}>
        <Text>{state}</Text>
      </Badge>
    ),
  },
];

/** The windows of plans, where any was measured. */
export function PlansCard() {
  const { value } = useData<PlanWindow[]>(PLANS, { refreshMs: 60_000 });
  const rows = value?.filter(({ window }) => window !== "credits") ?? [];
  if (rows.length === 0) return null;
  return (
    <Card title="How much of the plans is used">
      <Table
        caption="Plans"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ agent_id, machine, provider, key_id, window }) =>
          JSON.stringify([agent_id, machine, provider, key_id, window])}
        source={{ path: PLANS, name: "plans" }}
        sortParam="plans"
      />
    </Card>
  );
}
