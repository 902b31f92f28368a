import type { RefusalReason } from "../../../contract/values.ts";

/** The reasons of refusals in words. */
export const REASONS: Readonly<Record<RefusalReason, string>> = {
  spent: "the limit is reached",
  would_overshoot: "the call might exceed it",
  unbounded: "the call's cost has no bound",
  unpriced: "the model has no price",
  held: "the rest is held for calls in progress",
  overshot: "a call of the key has cost more than its bound",
};
