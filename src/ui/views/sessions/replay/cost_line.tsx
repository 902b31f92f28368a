import { payloadOf, readText, type ReplayStep, totalUsd } from "../../../../contract/replay/mod.ts";
import { toUsd } from "../../../../kernel/money.ts";
import { LineChart } from "../../../charts/line_chart.tsx";
import type { Point } from "../../../charts/series.ts";
import { shortUsd } from "../../../format/money.ts";
import { plural } from "../../../format/number.ts";
import { hrefWith } from "../../../hooks/route.ts";
import { costOf } from "./steps.ts";

const MAX_POINTS = 120;

/** The cost of a session, call by call. A long log has a point for every so many calls. */
export function CostLine({ steps, isAtEnd }: { steps: readonly ReplayStep[]; isAtEnd: boolean }) {
  const calls = steps.filter((step) => costOf(step) !== undefined);
  const last = calls.at(-1);
  const total = last && totalUsd(last.soFar);
  if (!last || total === null || total === undefined || calls.length < 2) return null;
  const every = Math.ceil(calls.length / MAX_POINTS);
  const points = calls.filter((_, index) => (calls.length - 1 - index) % every === 0).map(pointOf);
  return (
    <LineChart
      title="Cost of the session"
      finding={findingOf(calls, total, isAtEnd)}
      points={points}
      series={[{ key: "cost", label: "Cost so far" }]}
      format={shortUsd}
      pointTitle="Call"
      height={120}
    />
  );
}

function pointOf({ event, soFar }: ReplayStep): Point {
  const seq = event.seq ?? 0;
  return {
    label: `#${seq} ${readText(payloadOf(event).model) ?? ""}`,
    short: `#${seq}`,
    values: new Map([["cost", totalUsd(soFar)]]),
    href: hrefWith({ step: String(seq), call: undefined, run: undefined }),
  };
}

function findingOf(calls: readonly ReplayStep[], total: number, isAtEnd: boolean): string {
  let dearest = calls[0]!;
  for (const call of calls) if ((costOf(call) ?? 0n) > (costOf(dearest) ?? 0n)) dearest = call;
  const cost = costOf(dearest);
  const sum = `${shortUsd(total)} after ${plural(calls.length, "call")}${isAtEnd ? "" : " read so far"}`;
  return cost ? `${sum}; the dearest is #${dearest.event.seq} with ${shortUsd(toUsd(cost))}` : sum;
}
