import type { BuiltInChannels } from "../src/delivery/channels/mod.ts";

/** The built-in kinds of channels; each is imported when a channel of it is first used. */
export const builtInChannels: BuiltInChannels = {
  apprise: () => import("./apprise/mod.ts"),
  discord: () => import("./discord/mod.ts"),
  log: () => import("./log/mod.ts"),
  ntfy: () => import("./ntfy/mod.ts"),
  pagerduty: () => import("./pagerduty/mod.ts"),
  slack: () => import("./slack/mod.ts"),
  smtp: () => import("./smtp/mod.ts"),
  teams: () => import("./teams/mod.ts"),
  telegram: () => import("./telegram/mod.ts"),
  webhook: () => import("./webhook/mod.ts"),
};
