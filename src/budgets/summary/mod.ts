/** The spending that one line shows: that of a session and of today, and the budget that has the least left. */
export { readSummary } from "./read_summary.ts";
export { summarizeSpending } from "./summarize_spending.ts";
