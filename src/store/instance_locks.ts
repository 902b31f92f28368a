/** Detects instances of a database file that have ended, so that their leases need not expire first. */
export interface InstanceLocks {
  /**
   * Takes this instance's lock, before its id is used anywhere; idempotent. Resolves to false where no lock can be created:
   * then only leases expire.
   */
  hold(instanceId: string): Promise<boolean>;
  /** Returns whether an instance of this host has ended. False when it lives, or when that is unknown. */
  isGone(instanceId: string): Promise<boolean>;
  /** Removes the side files of ended instances, except those that `keep` accepts. */
  removeStale(keep: (instanceId: string) => boolean): Promise<void>;
  /** Releases the locks of this object and removes their side files. */
  close(): Promise<void>;
}

/** The instance locks of a database without any: in memory, or on a server. */
export const noInstanceLocks: InstanceLocks = {
  hold: () => Promise.resolve(false),
  isGone: () => Promise.resolve(false),
  removeStale: () => Promise.resolve(),
  close: () => Promise.resolve(),
};
