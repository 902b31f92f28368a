import { messageOf } from "./errors.ts";

/**
 * Lets the process outlive a promise that nobody handles and an error that nobody catches, and tells of each: they are
 * those of tools and channels that people bring along, and one of them must not take everybody's runs and alerts down.
 */
export function surviveFaults(tell: (message: string) => void): void {
  const say = (message: string) => {
    try {
      tell(message);
    } catch {
      // Nobody reads it.
    }
  };
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    say(`A promise was rejected that nobody handles: ${messageOf(event.reason)}`);
  });
  globalThis.addEventListener("error", (event) => {
    event.preventDefault();
    say(`An error was thrown that nobody catches: ${event.message}`);
  });
}
