import { count, plural } from "../format/number.ts";
import { apiPath, uiPath } from "../hooks/route.ts";
import { Link } from "../parts/link.tsx";
import type { Span } from "./spans/span.ts";

/** The counts that say how far the cost of some calls is known. */
export interface Coverage {
  model_calls: number;
  unpriced_calls: number;
  partly_priced_calls?: number;
  estimated_calls?: number;
  /** The calls of logs and telemetry, which leave out some. */
  lower_bound_calls?: number;
}

/** Says of how many calls the cost is not known, or only in part, or estimated; '' where all is known. */
function uncertainText(
  { unpriced_calls, partly_priced_calls = 0, estimated_calls = 0, lower_bound_calls = 0 }: Coverage,
): string {
  return [
    unpriced_calls > 0 && `${count(unpriced_calls)} without a price`,
    partly_priced_calls > 0 && `${count(partly_priced_calls)} partly priced`,
    estimated_calls > 0 && `${count(estimated_calls)} estimated`,
    lower_bound_calls > 0 && `${count(lower_bound_calls)} lower bounds`,
  ].filter(Boolean).join(", ");
}

type Bounds = Pick<Span, "from" | "to">;

/** Returns the page that names the calls whose cost is not known, with the fix. */
export function coverageHref({ from, to }: Bounds = {}): string {
  return apiPath(
    uiPath("costs", "coverage"),
    from === undefined && to === undefined ? { span: "all" } : { from, to },
  );
}

/** A line below the heading of a page, if the cost of some of its calls is not known: it leads to the fix. */
export function CoverageNote({ of, href = coverageHref() }: { of: Coverage | undefined; href?: string }) {
  if (!of) return null;
  const { model_calls, unpriced_calls, partly_priced_calls = 0, estimated_calls = 0, lower_bound_calls = 0 } =
    of;
  const [first, ...rest] = [
    [unpriced_calls, "has no price", "have no price"],
    [partly_priced_calls, "has a price in part", "have a price in part"],
    [estimated_calls, "is estimated", "are estimated"],
    [lower_bound_calls, "is a lower bound", "are lower bounds"],
  ].filter(([number]) => number) as [number, string, string][];
  if (!first) return null;
  const say = ([number, one, many]: [number, string, string]) => number === 1 ? one : many;
  const [number] = first;
  return (
    <p class="coverage-note">
      {[
        `${count(number)} of ${plural(model_calls, "call")} ${say(first)}`,
        ...rest.map((part) => `${count(part[0])} ${say(part)}`),
      ].join(", ")}:{" "}
      <Link href={href}>
        {unpriced_calls + partly_priced_calls > 0 ? "see which, and the fix" : "see which"}
      </Link>
    </p>
  );
}

/** The number of calls that a figure is of, with a link to those whose cost is not known. */
export function Calls({ of, span }: { of: Coverage; span: Bounds }) {
  const uncertain = uncertainText(of);
  return (
    <>
      {plural(of.model_calls, "call")}
      {uncertain && (
        <>
          {", "}
          <Link href={coverageHref(span)}>{uncertain}</Link>
        </>
      )}
    </>
  );
}

/** A line below a count of calls, if the cost of some of them is not known. */
export function UncertainCalls({ of }: { of: Coverage }) {
  const uncertain = uncertainText(of);
  return uncertain ? <div class="sub">{uncertain}</div> : null;
}
