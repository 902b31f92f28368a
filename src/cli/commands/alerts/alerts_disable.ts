import { arg, type Command } from "../../command.ts";
import { setRuleEnabled } from "./alerts_enable.ts";

/** `purser alerts disable RULE` */
export const alertsDisable: Command = {
  name: "alerts disable",
  args: [arg("RULE", { live: "rule" })],
  summary: "Disable an alert rule",
  options: {},
  examples: [["purser alerts disable rule_42", ""]],
  run: (ctx) => setRuleEnabled(ctx, false),
};
