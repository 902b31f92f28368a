import { Meter } from "../../charts/meter.tsx";
import { shortUsd } from "../../format/money.ts";
import { percent } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { Badge, type Tone } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { utc } from "../../format/time.ts";
import { type Limit, PERIODS } from "./limit.ts";

/** The name of a limit with the calls that it counts. */
export function LimitName({ limit }: { limit: Limit }) {
  return (
    <>
      <Link href={limit.href} class="strong">
        <Text>{limit.name}</Text>
      </Link>
      <div class="sub">
        {limit.kind === "rule" ? "Rule" : "Budget"}, <Text>{limit.scope}</Text>, {PERIODS[limit.per]}
      </div>
    </>
  );
}

/** The meter of a limit, with its amounts below. */
export function LimitMeter({ limit, marks }: { limit: Limit; marks?: readonly number[] }) {
  const { spent, reserved, raised, share, state } = limit;
  return (
    <div class="limit-meter">
      <Meter
        spent={spent ?? 0}
        reserved={reserved}
        limit={limit.limit + raised}
        marks={marks}
        state={state}
        label={describe(limit)}
      />
      <div class="limit-amounts">
        <span>
          {spent === null ? <span class="muted">nothing yet</span> : <Money usd={spent} />}
          {reserved > 0 && (
            <>
              {" + "}
              <Money usd={reserved} /> <span class="muted">reserved</span>
            </>
          )}
          <span class="muted">{" of "}</span>
          <Money usd={limit.limit} />
          {raised > 0 && (
            <>
              {" + "}
              <Money usd={raised} /> <span class="muted">raised</span>
            </>
          )}
        </span>
        <span class={`share ${state}`}>{percent(share)}</span>
      </div>
    </div>
  );
}

/** Says a limit in words, for readers that don't see its meter. */
function describe({ name, spent, reserved, limit, raised, share }: Limit): string {
  const held = reserved > 0 ? ` and ${shortUsd(reserved)} reserved` : "";
  const extra = raised > 0 ? ` plus ${shortUsd(raised)} raised` : "";
  return `${name}: ${shortUsd(spent ?? 0)} spent${held} of ${shortUsd(limit)}${extra}, ${percent(share)}`;
}

const STATES: Record<Limit["state"], { tone: Tone; budget: string; rule: string }> = {
  ok: { tone: "good", budget: "OK", rule: "OK" },
  near: { tone: "warning", budget: "Near", rule: "Near" },
  reached: { tone: "bad", budget: "Reached", rule: "Reached" },
};

export function LimitState({ limit }: { limit: Limit }) {
  if (!limit.enabled) return <Badge>Disabled</Badge>;
  const { tone, [limit.kind]: text } = STATES[limit.state];
  return <Badge tone={tone}>{text}</Badge>;
}

/** The time at which a limit is reached at the present pace, or the reason that there is none. */
export function ReachedAt({ limit }: { limit: Limit }) {
  const { reachesAt, usdPerHour, state, stops, kind } = limit;
  if (!limit.enabled) return <span class="muted">disabled</span>;
  if (state === "reached") {
    return (
      <span class="share reached">{stops ? "stops calls now" : kind === "rule" ? "fires" : "watches"}</span>
    );
  }
  if (reachesAt !== null) {
    return (
      <>
        <Time at={reachesAt} />
        <div class="sub">
          {utc(Date.parse(reachesAt))}
          {usdPerHour !== null && (
            <>
              , at <Money usd={usdPerHour} />/h
            </>
          )}
        </div>
      </>
    );
  }
  if (usdPerHour === null) return <span class="muted">no pace</span>;
  return <span class="muted">{usdPerHour === 0 ? "nothing is spent" : "not in this window"}</span>;
}

/** The end of a limit's window. */
export function ResetsAt({ limit }: { limit: Limit }) {
  const now = useNow();
  const { per, resetsAt } = limit;
  if (resetsAt !== null) return Date.parse(resetsAt) > now ? <Time at={resetsAt} /> : <>now</>;
  return (
    <span class="muted">{per === "hour" ? "rolling" : per === "lifetime" ? "never" : "with each one"}</span>
  );
}
