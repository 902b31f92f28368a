import type { UnknownName } from "../../../contract/budgets/budget_state.ts";
import { Meter } from "../../charts/meter.tsx";
import { shortUsd } from "../../format/money.ts";
import { count, percent } from "../../format/number.ts";
import { useNow } from "../../hooks/clock.ts";
import { Badge, type Tone } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Money } from "../../parts/money.tsx";
import { Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { utcBriefly } from "../../format/time.ts";
import type { Limit } from "./limit.ts";

/** The name of a limit with its state and the calls that it counts. */
export function LimitName({ limit, kind }: { limit: Limit; kind?: string }) {
  return (
    <div class="limit-name">
      <Link href={limit.href} class="strong">
        <Text>{limit.name}</Text>
      </Link>{" "}
      <LimitState limit={limit} />
      <div class="sub">
        <Text>{[kind, limit.scope, limit.period].filter(Boolean).join(", ")}</Text>
      </div>
    </div>
  );
}

/** Returns the text in place of an amount that is not known: a budget hides those of other agents from a key of one agent. */
export function noAmount({ kind }: Pick<Limit, "kind">): string {
  return kind === "budget" ? "hidden" : "nothing yet";
}

/** Returns true if the amounts are hidden, so that the state is all that is known. */
const isHidden = ({ kind, spent }: Limit) => kind === "budget" && spent === null;

/** Returns the used part of a limit as a percentage, or its state where that is all that is known. */
export function usedPart(limit: Limit): string {
  return isHidden(limit) ? STATES[limit.state].text : percent(limit.share);
}

/** Says that a limit names something of which there is nothing here, and what may be meant. */
export function UnknownNote({ unknown }: { unknown: UnknownName | undefined }) {
  if (unknown === undefined) return null;
  const { kind, id, nearest } = unknown;
  return (
    <div class="sub">
      <Badge tone="warning">Unknown {kind}</Badge> <Text>{id}</Text>
      {nearest === null ? "" : (
        <>
          ; did you mean <Text>{nearest}</Text>?
        </>
      )}
    </div>
  );
}

/** The amounts of a limit above their meter. */
export function LimitMeter({ limit, marks }: { limit: Limit; marks?: readonly number[] }) {
  const { spent, reserved, unpriced, raised, share, state, enabled } = limit;
  return (
    <div class={enabled ? "limit-meter" : "limit-meter disabled"}>
      <div class="limit-amounts">
        <span>
          {spent === null ? <span class="muted">{noAmount(limit)}</span> : (
            <Link href={limit.spentHref}>
              <Money usd={spent} />
            </Link>
          )}
          {reserved > 0 && <Amount usd={reserved} name="reserved" />}{" "}
          <span class="whole">
            <span class="muted">of</span> <Money usd={limit.limit} />
          </span>
          {raised > 0 && <Amount usd={raised} name="raised" />}
          {unpriced && ` + ${count(unpriced)} unpriced`}
        </span>
        <span class={`limit-share ${state}`}>{usedPart(limit)}</span>
      </div>
      <Meter
        spent={isHidden(limit) ? share : spent ?? 0}
        reserved={reserved}
        limit={isHidden(limit) ? 1 : limit.limit + raised}
        marks={marks?.filter((mark) => mark < 1)}
        state={state}
        label={describe(limit)}
      />
    </div>
  );
}

function Amount({ usd, name }: { usd: number; name: string }) {
  return (
    <>
      {" + "}
      <Money usd={usd} /> <span class="muted">{name}</span>
    </>
  );
}

/** Says a limit in words, for readers that don't see its meter. */
function describe(of: Limit): string {
  const { name, spent, reserved, limit, raised, share, state } = of;
  if (isHidden(of)) return `${name}: ${STATES[state].text}, what is spent of ${shortUsd(limit)} is hidden`;
  const held = reserved > 0 ? ` and ${shortUsd(reserved)} reserved` : "";
  const extra = raised > 0 ? ` plus ${shortUsd(raised)} raised` : "";
  return `${name}: ${shortUsd(spent ?? 0)} spent${held} of ${shortUsd(limit)}${extra}, ${percent(share)}`;
}

const STATES: Record<Limit["state"], { tone: Tone; text: string }> = {
  ok: { tone: "good", text: "OK" },
  near: { tone: "warning", text: "Near" },
  reached: { tone: "bad", text: "Reached" },
};

export function LimitState({ limit }: { limit: Limit }) {
  if (!limit.enabled) return <Badge>Disabled</Badge>;
  const { tone, text } = STATES[limit.state];
  return <Badge tone={tone}>{text}</Badge>;
}

/** The time at which a limit is reached at the present pace, or the reason that there is none. */
export function ReachedAt({ limit: { enabled, reachesAt, usdPerHour, state, stops } }: { limit: Limit }) {
  const now = useNow();
  if (!enabled) return <span class="muted">disabled</span>;
  if (state === "reached") {
    return stops ? <span class="limit-share reached">stops calls now</span> : <>now</>;
  }
  if (reachesAt !== null) {
    return (
      <>
        <Time at={reachesAt} />
        <div class="sub">
          {utcBriefly(Date.parse(reachesAt), now)}
          {usdPerHour !== null && (
            <>
              , at <Money usd={usdPerHour} />/h
            </>
          )}
        </div>
      </>
    );
  }
  if (usdPerHour === null) return <span class="muted">–</span>;
  return <span class="muted">{usdPerHour === 0 ? "nothing is spent" : "not in this window"}</span>;
}

/** The end of a limit's window. */
export function ResetsAt({ limit }: { limit: Limit }) {
  const now = useNow();
  const { per, resetsAt } = limit;
  if (resetsAt !== null) return Date.parse(resetsAt) > now ? <Time at={resetsAt} /> : <>now</>;
  return (
    <span class="muted">
      {per === "hour" || per === "30d" ? "rolling" : per === "lifetime" ? "never" : "each by itself"}
    </span>
  );
}
