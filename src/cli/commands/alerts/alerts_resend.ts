import type { AlertResend } from "../../../contract/alerts.ts";
import { arg, type Command, type CommandContext } from "../../command.ts";
import { idInPath, readId } from "../../parse/command_id.ts";
import { postTest } from "../channels/channels_try.ts";

/** `purser alerts resend ALERT_ID` */
export const alertsResend: Command = {
  name: "alerts resend",
  args: [arg("ALERT_ID", { live: "alert" })],
  summary: "Send an alert of the history once more",
  detail:
    "Sent once to every channel whose min_severity it reaches today. Exit code 1 if any channel fails. The id is in " +
    "the notification, and in purser alerts history.",
  options: {},
  examples: [["purser alerts resend alert_42", ""]],
  needsDatabase: true,
  run: resendAlert,
};

async function resendAlert(ctx: CommandContext): Promise<number> {
  const alertId = readId(ctx);
  const connection = await ctx.connect();
  const url = connection.api.alerts.history[":alert_id"].resend.$url({
    param: { alert_id: idInPath(alertId) },
  });
  return await postTest<AlertResend>(ctx, connection, url, ({ results }) => results);
}
