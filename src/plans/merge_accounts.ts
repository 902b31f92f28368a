import { HOUR_MS } from "../kernel/clock.ts";
import type { MeasuredWindow } from "./read_plan_windows.ts";

/** The latest measurement of a window, and that of each machine with a login of the same account. */
export interface AccountWindow extends MeasuredWindow {
  machines: readonly MeasuredWindow[];
}

/**
 * Merges the windows that several machines with the same account have measured, as a plan is that of an account. Windows of a
 * gateway, and of machines whose account isn't known, stay apart.
 */
export function mergeAccounts(windows: readonly MeasuredWindow[]): AccountWindow[] {
  const accounts = Map.groupBy(windows, ({ agent, owner, account, reporterKeyId, window }) =>
    JSON.stringify(
      "machine" in owner && account !== undefined
        ? [agent, account, window]
        : [agent, owner, reporterKeyId, window],
    ));
  return [...accounts.values()].map((machines) => ({ ...machines.reduce(laterOf), machines }));
}

/** Of status lines, which may repeat an old figure, the later window, or else the higher use. Times of a reset differ by seconds. */
function laterOf(a: MeasuredWindow, b: MeasuredWindow): MeasuredWindow {
  const orders = a.source === "statusline"
    ? [
      Math.round(((b.resetsAt ?? 0) - (a.resetsAt ?? 0)) / HOUR_MS),
      (b.usedPercent ?? 0) - (a.usedPercent ?? 0),
    ]
    : [];
  return [...orders, b.measuredAt - a.measuredAt].find((order) => order !== 0)! > 0 ? b : a;
}
