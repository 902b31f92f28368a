import type { Billing, CallSource } from "../contract/values.ts";
import type { CallScopes, Refusal } from "../budgets/mod.ts";
import type { Grant } from "../budgets/reservations/mod.ts";
import type { NanoUsd } from "../kernel/money.ts";
import type { ModelCall, Upstream, Viewer } from "../ledger/mod.ts";
import type { Served } from "../pricing/mod.ts";
import type { NewEvent } from "../sessions/mod.ts";
import type { CallSettings, Span } from "../telemetry/mod.ts";
import type { CallOrigin } from "./make_call.ts";
import type { UsageReport } from "./settle_usage.ts";

/* The types of `openCall()`: what a caller says of a call, and the open call that it gets. */

/** The caller of calls: whom they are attributed to, and what the caller does beside the booking. */
export interface CallTerms extends CallOrigin {
  source: CallSource & ("run" | "meter" | "gateway");
  scopes: CallScopes;
  /** Who will probably pay for the call; without it, it is billed. */
  billing?: Billing;
  /** Decides which amounts of other calls the caller may see. */
  viewer: Viewer;
  /** The parent span; default: the active one. */
  parent?: Span | undefined;
  /** Returns the cost of the caller's previous call: the next one is estimated no lower. */
  lastCostNanoUsd?(): NanoUsd | null;
  /** Returns the step number of the call; `meter()` counts with each use, so call it once per call. */
  nextStep?(): number;
  /**
   * Takes the events of a call if the caller writes them to its log. Without it, `openCall()` logs refusals and overshoots, and
   * no failure.
   */
  addEvent?(event: Omit<NewEvent, "at">, at?: number): void;
  /** Returns true once the strict budget of the run can't be kept, so that no further call is made. */
  hasOvershot?(): boolean | Promise<boolean>;
  /** Returns the refusals of strict budgets that the caller has overshot before. */
  findOvershoots?(at: number): Promise<readonly Refusal[]>;
  /** Called after a call under a strict budget that has cost more than its bound, or has a part without a price. */
  overshot?(call: ModelCall): void | Promise<void>;
}

/** An upper bound of a call's input tokens, or the reason that there is none. */
export type InputBound = { max: number } | { unboundedBecause: string };

/** A call to make. The functions that measure it are called only if a decision needs the result. */
export interface CallRequest {
  provider: string;
  model: string;
  /** Returns the models that may be called instead: its budgets have to allow each of them. */
  fallbacks?(): readonly string[];
  /** The service that it asks for, where that is not the standard one. */
  asks?: Served | undefined;
  /** The credential and the account that pay, as far as its caller knows once it was sent. */
  readonly paidWith?: Upstream | undefined;
  isStreamed: boolean;
  settings: CallSettings;
  maxOutputTokens: number | undefined;
  /** True if its output may be limited to what fits into a strict budget. */
  canShorten: boolean;
  /** True if Purser sends the request itself: after an error that says nothing about a charge, strict budgets hold the reservation. */
  isSentHere?: boolean;
  /** Returns the approximate bytes of its input, for an estimate of the cost before it is made. */
  estimateBytes(): number;
  /** Returns the bytes of the request that become input, for an estimate of its usage. */
  inputBytes(): number;
  /** Returns a bound of the input, for a strict budget. */
  boundInput(): InputBound;
  readonly signal?: AbortSignal | undefined;
}

/** The parts of an answer that are booked beside its usage. */
export interface AnswerFacts {
  /** The names of the tools that it called. */
  tools?: readonly string[];
  /** Returns the bytes of text received so far; all bytes, if the answer has no text. */
  outputBytes(): number;
  /** Returns the bytes that are known to be text of the model; default: `outputBytes()`. */
  textBytes?(): number;
  finishReason?: string | undefined;
}

/** Writes a call; resolves when it is durable. */
export type BookCall = (call: ModelCall, grant: Grant | undefined) => Promise<void>;

/** A call that its budgets have admitted. Its caller sends it now, and ends it once, by `settle()`, `fail()` or `refuse()`. */
export interface OpenCall {
  id: string;
  /** The time under which it is priced and booked. */
  at: number;
  /** The output limit that a strict budget allows, where it is lower. */
  outputLimit: number | undefined;
  /** Makes the call inside its span. */
  run<T>(work: () => T): T;
  /**
   * Books it by the usage that its answer reports. Resolves when that is durable; only then may the caller see the end of the
   * answer. If the process dies before, the call is not in the ledger: see `recoverRuns()` in sessions/recover_runs.ts. If the
   * commit fails, it waits in the spool: see `keepCall()` in keep_call.ts.
   *
   * @throws {PurserError} it is neither in the ledger nor in the spool
   */
  settle(report: UsageReport, answer: AnswerFacts, book?: BookCall): Promise<ModelCall>;
  /**
   * Ends it after an error before a complete answer. If its provider may have charged for it, it is booked, by the usage in the
   * error or else by an estimate. If only part of the request was sent, or Purser sent it itself and the error says nothing,
   * strict budgets hold its reservation. Otherwise the reservation is freed.
   */
  fail(error: unknown, how?: FailedHow): Promise<ModelCall | undefined>;
  /** Ends it without a cost: its provider has refused it. */
  refuse(reason: unknown): Promise<void>;
}

/** The circumstances of a failed call. */
export interface FailedHow {
  /** The usage and the text that the error holds. */
  report?: UsageReport;
  /** True if its provider has answered: then an error that says nothing about a charge counts as a charge. */
  hasAnswered?: boolean;
  book?: BookCall;
}
