import type { Grant } from "../budgets/reservations/mod.ts";
import { startOf } from "../contract/windows.ts";
import { HOUR_MS } from "../kernel/clock.ts";
import type { PriceBook, PriceQuery, Served } from "../pricing/mod.ts";
import type { CallContext } from "./context.ts";

/** The terms of a call that its budgets have let through. */
export interface AdmittedTerms {
  /** The time of the admission; in what `send` gets, the time of sending, by which it is priced and booked. */
  at: number;
  grant: Grant | undefined;
  /** Bounded and billed by one book, so that an update of the prices meanwhile breaks no bound. */
  prices: PriceBook;
}

/** The model of a call and the service that it asks for, by whose price it is decided. */
type Asked = Omit<PriceQuery, "at"> & { asks?: Served | undefined };

/** The most times that a call is admitted; more are needed only if the clock jumps each time. */
const MAX_ATTEMPTS = 20;

/** Returns the prices in use, which no update changes. */
export function pricesNow({ prices }: Pick<CallContext, "prices">): PriceBook {
  return prices.current?.() ?? prices;
}

/**
 * Admits a call and sends it. The commit of its reservation may have waited; if the price has changed meanwhile, or another
 * window has begun, the call is admitted anew. `send` is called in the same turn of the event loop in which that is checked, and
 * has to send the request in it.
 */
export async function sendAdmitted<T>(
  ctx: CallContext,
  asked: Asked,
  admit: () => Promise<AdmittedTerms>,
  send: (terms: AdmittedTerms) => Promise<T>,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const admitted = await admit();
    const now = ctx.clock.now();
    if (attempt === MAX_ATTEMPTS || isStillRight(ctx, asked, admitted, now)) {
      return await send({ at: now, grant: admitted.grant, prices: pricesNow(ctx) });
    }
    if (admitted.grant) await ctx.gate.release(admitted.grant);
  }
}

/** Returns whether a call that was admitted costs and counts as it would if it were admitted now. */
function isStillRight(
  ctx: CallContext,
  asked: Asked,
  { at, grant, prices }: AdmittedTerms,
  now: number,
): boolean {
  if (pricesNow(ctx) !== prices) return false;
  const ratesAt = (time: number) =>
    prices.rates(prices.located({ provider: asked.provider, model: asked.model, at: time, ...asked.asks }));
  if (now !== at && ratesAt(now) !== ratesAt(at)) return false;
  return !grant || isInWindowsOf(at, now);
}

/** The window `hour` moves with the clock: after half an hour, the call is admitted anew. */
const ADMITTED_FOR_MS = HOUR_MS / 2;

/** Returns whether a call counts in the windows in which it was reserved; false too if the clock was set back since. */
function isInWindowsOf(reservedAt: number, at: number): boolean {
  return at >= reservedAt && at - reservedAt < ADMITTED_FOR_MS &&
    startOf("day", reservedAt) === startOf("day", at);
}
