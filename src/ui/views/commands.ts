/** The commands that empty pages teach. */

export const ADD_BUDGET = "purser budgets add --name Day --limit 50 --per day";

export const ADD_RULE =
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

/** An agent of a built-in model, which needs no key, and its first run. */
export const RUN_AGENT =
  'purser agents set helper --model demo:echo --tool calculator\npurser run helper "What is 17 * 23?"';
