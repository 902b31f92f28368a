import { messageOf } from "./errors.ts";
import { thisProcess } from "./this_process.ts";

/**
 * Lets the process outlive a promise that nothing handles and an error that nothing catches, and reports each: they are
 * those of tools and channels that users bring along, and one of them must not end all runs and alerts.
 */
export function surviveFaults(report: (message: string) => void): void {
  thisProcess().onFaults((kind, error) => {
    const what = kind === "rejection"
      ? "A promise was rejected that nobody handles"
      : "An error was thrown that nobody catches";
    try {
      report(`${what}: ${messageOf(error)}`);
    } catch {
      // The reader of standard error has gone.
    }
  });
}
