/** How many deliveries are remembered; those that are done are forgotten at once. */
const MAX_DELIVERIES = 1_000;

/**
 * Remembers which recipients of a delivery have it, so that a further attempt mails only the others. It lasts
 * as long as the process: after a restart somebody may get a mail twice, with the same Message-ID.
 */
export function createMemory() {
  const settled = new Map<string, Set<string>>();
  return {
    /** The recipients that are still to be mailed. */
    openRecipients(deliveryId: string, all: readonly string[]): string[] {
      const done = settled.get(deliveryId);
      const open = all.filter((address) => !done?.has(address));
      return open.length > 0 ? open : [...all];
    },
    /** Notes those who need no further attempt; once the delivery is done, it is forgotten. */
    settle(deliveryId: string, addresses: readonly string[], { isDone }: { isDone: boolean }): void {
      if (isDone) {
        settled.delete(deliveryId);
        return;
      }
      if (addresses.length === 0) return;
      settled.set(deliveryId, new Set([...settled.get(deliveryId) ?? [], ...addresses]));
      const [oldest] = settled.keys();
      if (settled.size > MAX_DELIVERIES && oldest !== undefined) settled.delete(oldest);
    },
  };
}
