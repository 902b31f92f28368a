import type { DeliveryContext } from "../delivery/mod.ts";

/** Whether there may be enabled rules: without any, booking a call does not pay for them. */
export interface KnownRules {
  mayExist: boolean;
}

/** What alerts need of the process they run in. */
export interface AlertContext extends DeliveryContext {
  rules: KnownRules;
}
