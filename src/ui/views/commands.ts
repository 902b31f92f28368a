/** The commands that empty pages teach. */

export const ADD_BUDGET = "purser budgets add --name Day --limit 50 --per day";

export const ADD_RULE =
  'purser alerts add --name "Daily limit" --threshold-usd 10 --threshold-type per_day_usd --severity warning';

export const RUN_AGENT = 'purser run AGENT "What is 17 * 23?"';
