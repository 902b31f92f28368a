import { useRoute } from "../../hooks/route.ts";
import { Card } from "../../parts/card.tsx";
import { Segments } from "../../parts/filters.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/loaded.tsx";
import { byShare, byTime, type Limit } from "../budgets/limit.ts";
import { LimitMeter, LimitName, LimitState, ReachedAt, ResetsAt } from "../budgets/limit_cells.tsx";
import { budgetsHref } from "../links.ts";

const SHOWN = 6;

/** The budgets and rules that are closest to their limits, by share or by time. */
export function LimitsCard({ limits }: { limits: readonly Limit[] }) {
  const isByTime = useRoute().query.get("limits") === "time";
  const enabled = limits.filter(({ enabled }) => enabled);
  const ordered = isByTime ? byTime(enabled) : byShare(enabled);
  return (
    <Card
      title="How close the limits are"
      aside={
        <Segments
          name="limits"
          label="Order"
          fallback="share"
          choices={[{ value: "share", label: "By share" }, { value: "time", label: "By time" }]}
        />
      }
    >
      {enabled.length === 0
        ? (
          <Empty
            title="No budget and no alert rule"
            command="purser budgets add --name Day --limit 50 --per day"
          >
            A budget refuses calls once it is reached; a rule notifies.
          </Empty>
        )
        : (
          <>
            <ul class="limits">
              {ordered.slice(0, SHOWN).map((limit) => (
                <li key={limit.id}>
                  <div class="limit-head">
                    <div>
                      <LimitName limit={limit} />
                    </div>
                    <LimitState limit={limit} />
                  </div>
                  <LimitMeter limit={limit} />
                  <div class="limit-foot">
                    <span>
                      Reached: <ReachedAt limit={limit} />
                    </span>
                    <span>
                      Resets: <ResetsAt limit={limit} />
                    </span>
                  </div>
                </li>
              ))}
            </ul>
            <p class="card-more">
              <Link href={budgetsHref()}>
                {enabled.length > SHOWN ? `All ${enabled.length} limits` : "Budgets and rules"}
              </Link>
            </p>
          </>
        )}
    </Card>
  );
}
