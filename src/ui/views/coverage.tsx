import { count, plural } from "../format/number.ts";

/** The counts that say how far the cost of some calls is known. */
export interface Coverage {
  model_calls: number;
  unpriced_calls: number;
  partly_priced_calls?: number;
  estimated_calls?: number;
}

/** Says how many calls a figure is of, and of how many the cost is not known or only estimated. */
export function callsText(
  { model_calls, unpriced_calls, partly_priced_calls = 0, estimated_calls = 0 }: Coverage,
): string {
  return [
    plural(model_calls, "call"),
    unpriced_calls > 0 && `${count(unpriced_calls)} without a price`,
    partly_priced_calls > 0 && `${count(partly_priced_calls)} partly priced`,
    estimated_calls > 0 && `${count(estimated_calls)} estimated`,
  ].filter(Boolean).join(", ");
}
