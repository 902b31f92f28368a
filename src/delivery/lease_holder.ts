import type { DeliveryContext } from "./context.ts";

/**
 * SQL for whether the deliveries of a row are held by a test: they are attempted once, by the test itself, and never by a
 * dispatcher.
 */
export const IS_HELD_BY_TEST = "leased_by GLOB 'test*'";

/** Returns a holder for one claim of this instance. */
export function newHolder({ ids, instanceId }: Pick<DeliveryContext, "ids" | "instanceId">): string {
  return `${instanceId}/${ids.next("req")}`;
}

/** Returns the holder of the deliveries of a test that this instance makes. */
export function testHolder({ instanceId }: Pick<DeliveryContext, "instanceId">): string {
  return `test/${instanceId}`;
}

/** Returns the instance of a holder; undefined of one that earlier versions wrote, which named none. */
export function instanceOf(holder: string): string | undefined {
  return /^(?:test\/)?(inst_\w+)(?:\/|$)/.exec(holder)?.[1];
}
