import { useNow } from "../../hooks/clock.ts";
import { shortUsd } from "../../format/money.ts";
import { relative } from "../../format/time.ts";
import { plural } from "../../format/number.ts";
import { Banner } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { byTime, type Limit } from "./limit.ts";

/** Returns the budget that refuses calls next, at the present pace. */
export function nextStopOf(limits: readonly Limit[]): Limit | undefined {
  return byTime(limits).find(({ enabled, stops, reachesAt }) => enabled && stops && reachesAt !== null);
}

/** Returns the budgets that refuse calls at present. */
export function stoppedBy(limits: readonly Limit[]): Limit[] {
  return limits.filter(({ enabled, stops, state }) => enabled && stops && state === "reached");
}

/** A sentence about the budgets that stop calls: those that do now, and the next one. */
export function NextStop({ limits }: { limits: readonly Limit[] }) {
  const now = useNow();
  const stopped = stoppedBy(limits);
  const next = nextStopOf(limits);
  if (stopped.length === 0 && !next) return null;
  return (
    <Banner tone={stopped.length > 0 ? "bad" : "warning"}>
      {stopped.length > 0 && (
        <>
          {plural(stopped.length, "budget refuses", "budgets refuse")} calls now:{" "}
          {stopped.map((limit, index) => (
            <>
              {index > 0 && ", "}
              <Name limit={limit} />
            </>
          ))}.{" "}
        </>
      )}
      {next && (
        <>
          <Name limit={next} /> stops calls {relative(Date.parse(next.reachesAt!), now)}, at{" "}
          <Time at={next.reachesAt} as="utc" />
          {next.usdPerHour !== null && `, if spending stays at ${shortUsd(next.usdPerHour)} per hour`}.
        </>
      )}
    </Banner>
  );
}

function Name({ limit }: { limit: Limit }) {
  return (
    <Link href={limit.href}>
      <Text>{limit.name}</Text>
    </Link>
  );
}
