import { Page } from "../../app/page.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import { shortUsd } from "../../format/money.ts";
import { plural } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { apiPath, uiPath, useRoute } from "../../hooks/route.ts";
import { useLive } from "../../live/live.tsx";
import type { LiveState } from "../../live/types.ts";
import { Grid, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { byShare, type Limit } from "../budgets/limit.ts";
import { usedPart } from "../budgets/limit_cells.tsx";
import { limitOfBudget } from "../budgets/limit_of_budget.ts";
import { isOfSpending, limitOfRule } from "../budgets/limit_of_rule.ts";
import { nextStopOf, stoppedBy } from "../budgets/next_stop.tsx";
import { Calls, coverageHref } from "../coverage.tsx";
import { dateIn } from "../../../contract/calendars/zones.ts";
import { useAccess } from "../../hooks/session.ts";
import { instantOf } from "../spans/days.ts";
import { type Span, spanOf } from "../spans/span.ts";
import { SpanFilter } from "../spans/span_filter.tsx";
import { budgetsHref, costsHref } from "../links.ts";
import { AlertsCard, AnomaliesCard } from "./incidents.tsx";
import { LimitsCard } from "./limits_card.tsx";
import { PlansCard } from "./plans_card.tsx";
import { BurnCard, RunsCard } from "./running.tsx";
import { type SpanSum, SpendCard, useGroup, useSpending } from "./spend_card.tsx";

/** The home page: the money of today, what spends at present, and the limits that are close. */
export function NowView() {
  const { query } = useRoute();
  const { calendar } = useAccess().session;
  const { state, error, at, reload } = useLive();
  const now = useNow();
  const today = state?.day ?? dateIn(calendar.timeZone, now);
  const span = spanOf(query, instantOf(today, calendar.timeZone), calendar, "today");
  const { sum, spenders } = useSpending(span, useGroup(), state);
  const limits = [
    ...state?.budgets.map(limitOfBudget) ?? [],
    ...state?.rules.filter(isOfSpending).map((rule) => limitOfRule(rule, now)) ?? [],
  ];
  const live = { value: state, error, isStale: error !== undefined, at, reload };
  return (
    <Page
      title="Now"
      filters={<SpanFilter fallback="today" />}
      coverage={{ of: sum, href: coverageHref(span) }}
    >
      <Loaded data={live}>
        {(state) => (
          <>
            <Summary state={state} span={span} sum={sum} limits={limits} />
            <SpendCard span={span} today={today} sum={sum} spenders={spenders} />
            <LimitsCard limits={limits} />
            <PlansCard />
            <RunsCard state={state} />
            <Grid>
              <BurnCard state={state} />
              <AlertsCard state={state} />
            </Grid>
            <AnomaliesCard state={state} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Summary({ state, span, sum, limits }: {
  state: LiveState;
  span: Span;
  sum: SpanSum | undefined;
  limits: readonly Limit[];
}) {
  const { spend, running } = state;
  return (
    <section class="card summary" aria-label="Summary">
      <Stats>
        <Stat label={`Spent ${span.title}`} note={sum && <Calls of={sum} span={span} />}>
          {sum
            ? (
              <Link href={costsHref({ from: span.from, to: span.to })}>
                <Money usd={sum.cost_usd} />
              </Link>
            )
            : "…"}
        </Stat>
        <Stat label="Per minute" note="mean of the last 10 minutes">
          <Money usd={spend.usd_per_minute} />{" "}
          <Sparkline
            values={spend.minutes}
            label={`Spending in each of the last 60 minutes, up to ${
              shortUsd(Math.max(0, ...spend.minutes))
            }`}
          />
        </Stat>
        <Stat label="Runs in progress">
          <Link href={apiPath(uiPath("sessions"), { status: "running" })}>{plural(running, "run")}</Link>
        </Stat>
        <NextStopStat limits={limits} />
      </Stats>
    </section>
  );
}

/** The budget that stops calls next, or those that do at present, or the one that is closest to its limit. */
function NextStopStat({ limits }: { limits: readonly Limit[] }) {
  const [stopped] = stoppedBy(limits);
  const next = nextStopOf(limits);
  const shown = stopped ?? next;
  if (!shown) {
    const [closest] = byShare(limits.filter(({ enabled, stops }) => enabled && stops));
    if (closest) {
      return (
        <Stat
          label="Closest to its limit"
          note={closest.spent === null
            ? `${usedPart(closest)}; what is spent is hidden`
            : `${usedPart(closest)} used${closest.usdPerHour === null ? "" : ", not reached at this pace"}`}
        >
          <Link href={closest.href}>
            <Text>{closest.name}</Text>
          </Link>
        </Stat>
      );
    }
    return (
      <Stat label="Stops next">
        <Link href={budgetsHref()}>No budget</Link>
      </Stat>
    );
  }
  return (
    <Stat
      label={stopped ? "Stops calls now" : "Stops next"}
      note={stopped
        ? next && (
          <>
            then{" "}
            <Link href={next.href}>
              <Text>{next.name}</Text>
            </Link>{" "}
            <Time at={next.reachesAt} />
          </>
        )
        : (
          <>
            <Time at={shown.reachesAt} />, at <Money usd={shown.usdPerHour} />/h
          </>
        )}
    >
      <Link href={shown.href}>
        <Text>{shown.name}</Text>
      </Link>
    </Stat>
  );
}
