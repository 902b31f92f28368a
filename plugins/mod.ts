import type { BuiltInChannels } from "../src/delivery/channels/mod.ts";

/** The built-in kinds of channels; each is imported when a channel of it is first used. */
export const builtInChannels: BuiltInChannels = {
  log: () => import("./log/mod.ts"),
  slack: () => import("./slack/mod.ts"),
  smtp: () => import("./smtp/mod.ts"),
  webhook: () => import("./webhook/mod.ts"),
};
