import { count, plural } from "../format/number.ts";
import { apiPath, uiPath } from "../hooks/route.ts";
import { Link } from "../parts/link.tsx";

/** The counts that say how far the cost of some calls is known. */
export interface Coverage {
  model_calls: number;
  unpriced_calls: number;
  partly_priced_calls?: number;
  estimated_calls?: number;
}

/** Says of how many calls the cost is not known, or only in part, or estimated; '' where all is known. */
function uncertainText({ unpriced_calls, partly_priced_calls = 0, estimated_calls = 0 }: Coverage): string {
  return [
    unpriced_calls > 0 && `${count(unpriced_calls)} without a price`,
    partly_priced_calls > 0 && `${count(partly_priced_calls)} partly priced`,
    estimated_calls > 0 && `${count(estimated_calls)} estimated`,
  ].filter(Boolean).join(", ");
}

/** The number of calls that a figure is of, with a link to those whose cost is not known. */
export function Calls({ of, from }: { of: Coverage; from: string | undefined }) {
  const uncertain = uncertainText(of);
  const href = apiPath(uiPath("costs", "coverage"), from === undefined ? { span: "all" } : { from });
  return (
    <>
      {plural(of.model_calls, "call")}
      {uncertain && (
        <>
          {", "}
          <Link href={href}>{uncertain}</Link>
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
