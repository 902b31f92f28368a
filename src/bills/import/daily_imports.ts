import { startOf } from "../../contract/windows.ts";
import { DAY_MS } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { type BillContext, importToEnd, stepImport } from "./import_bill.ts";

/** The days that are read again: what appears late is on the bill by then. */
const AGAIN_DAYS = 3;
/** The days of a month in which the whole month before it is read again. */
const DAYS_OF_LAST_MONTH = 5;

/** Returns the window that is read on a day. */
export function dailyWindow(now: number): { from: number; to: number } {
  const today = startOf("day", now);
  const isEarly = new Date(today).getUTCDate() <= DAYS_OF_LAST_MONTH;
  const from = isEarly ? startOf("month", today, -1) : today - AGAIN_DAYS * DAY_MS;
  return { from, to: today + DAY_MS };
}

// One that was cut off is not done: any process goes on with it, at its page, and of several one stages a page.
const IS_DONE =
  `SELECT 1 FROM bill_imports WHERE source = ? AND account = ? AND status = 'done' AND sha256 IS NULL
  AND from_at <= ? AND to_at >= ? AND created_at >= ? LIMIT 1`;

/** Imports the sources of the config, each once a day of UTC. Never rejects. */
export async function importDueBills(ctx: BillContext): Promise<void> {
  for (const { source, account, isByMinute } of ctx.billImports) {
    if (ctx.stopping.aborted) return;
    const { from, to } = dailyWindow(ctx.clock.now());
    try {
      const { rows } = await ctx.store.read({
        sql: IS_DONE,
        args: [source, account ?? "", from, to, to - DAY_MS],
      });
      if (rows.length > 0) continue;
      const done = await importToEnd(ctx, () => stepImport(ctx, { source, account, from, to, isByMinute }));
      const { status, reason, newLines, revisedLines, unknown } = done;
      if (status === "done") {
        ctx.log.info("A bill was imported", { source, account, newLines, revisedLines, unknown });
      } else ctx.log.warn("The import of a bill goes on later", { source, account, reason });
    } catch (error) {
      ctx.log.warn("A bill could not be imported", { source, account, reason: messageOf(error) });
    }
  }
}
