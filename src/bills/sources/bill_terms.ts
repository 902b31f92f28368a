/** The rules of a source of bills, by which its lines are compared with calls. */
export interface BillTerms {
  /** Its name on the command line: `anthropic`. */
  name: string;
  /** The provider of the calls that it bills, as the ledger names it; null if each line names its own. */
  provider: string | null;
  /** The longest time after which usage appears on the bill, in milliseconds: calls after it can't be missing. */
  delayMs: number;
  /** The days after the end of a month from which its bill no longer changes. */
  finalAfterDays: number;
  /** The bucket in which a call is counted whose start and end lie in two; undefined where no document says so. */
  countsBy?: "start" | "end";
  /** True for a report of estimates, which bills no call. */
  isEstimate?: true;
  /** The version of the table that maps its names of models and parts. It is stored with each reconciliation. */
  mapping: number;
}
