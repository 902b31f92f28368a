import type { Severity } from "../../contract/values.ts";

/** What a detector says: something was found, with its figures, or why not. */
export type Verdict<Figures, Reason extends string> =
  | ({ isFound: true; severity: Severity } & Figures)
  | { isFound: false; reason: Reason };
