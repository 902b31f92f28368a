import { type Command, flag, option, type OptionSpec } from "./command.ts";
import { AGENT_COMMANDS } from "./commands/agents/agents.ts";
import { RULE_COMMANDS } from "./commands/alerts/alert_rules.ts";
import { alertsAck, alertsHistory, alertsResend } from "./commands/alerts/alerts_history.ts";
import { APPROVAL_COMMANDS } from "./commands/approvals/approvals.ts";
import { apply, audit } from "./commands/authored_commands.ts";
import { backup, restore } from "./commands/backup/backup.ts";
import {
  BILL_COMMANDS,
  EXPORT_COMMANDS,
  RECONCILE_COMMANDS,
  statement,
  UPSTREAM_COMMANDS,
} from "./commands/bills/bills.ts";
import { BUDGET_COMMANDS } from "./commands/budgets/budgets.ts";
import { channelsList, channelsTry, digest } from "./commands/channels/channels.ts";
import { completions } from "./commands/completions.ts";
import { CONFIG_COMMANDS } from "./commands/config/config.ts";
import { cost } from "./commands/cost/cost.ts";
import { costExplain } from "./commands/cost/cost_explain.ts";
import { dashboard } from "./commands/dashboard.ts";
import { demo } from "./commands/demo.ts";
import { doctor } from "./commands/doctor.ts";
import { capture, gatewayEnv, otlpEnv } from "./commands/env/env_commands.ts";
import { GATE_COMMANDS, STATUSLINE_COMMANDS } from "./commands/gate/gate.ts";
import { importCommand } from "./commands/import/import.ts";
import { KEY_COMMANDS } from "./commands/keys/keys.ts";
import { pricesShow, pricesUpdate } from "./commands/prices/prices.ts";
import { PRICE_COMMANDS } from "./commands/prices/set_prices.ts";
import { profilesAdd, profilesList, profilesRemove } from "./commands/profiles/profiles.ts";
import { report } from "./commands/report/report.ts";
import { reprice, repriceApply, repriceList, repriceUndo } from "./commands/reprice/reprice.ts";
import { run } from "./commands/run.ts";
import { SERVICE_COMMANDS } from "./commands/service/service.ts";
import { serve } from "./commands/serve.ts";
import { plans, sources } from "./commands/sources/sources.ts";
import { sessionsList, sessionsShow } from "./commands/sessions/sessions.ts";
import { stateExport } from "./commands/state/state_export.ts";
import { stateImport } from "./commands/state/state_import.ts";
import { stateReplay, stateShow } from "./commands/state/state_show.ts";

/** The options that every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  db: option("PATH|URL", "Database: a file, or libsql://… for a server", { isFile: true }),
  server: option("URL", "Use a Purser server instead of a database"),
  "api-key": option("KEY", "API key for that server"),
  profile: option("NAME", "Server or database by its name in the config file", { live: "profile" }),
  config: option("FILE", "Config file to use instead of the default one", { isFile: true }),
  json: flag("Print the API's response as JSON, errors too"),
  help: flag("Show help"),
};

/**
 * Every command, in the order of the help. An option of one name has one type in all commands, so that it may stand
 * anywhere on the line.
 */
export const COMMANDS: readonly Command[] = [
  run,
  demo,
  ...AGENT_COMMANDS,
  sessionsList,
  sessionsShow,
  stateExport,
  stateShow,
  stateImport,
  stateReplay,
  cost,
  costExplain,
  importCommand,
  sources,
  plans,
  report,
  ...BILL_COMMANDS,
  ...RECONCILE_COMMANDS,
  ...EXPORT_COMMANDS,
  statement,
  reprice,
  repriceList,
  repriceApply,
  repriceUndo,
  pricesShow,
  ...PRICE_COMMANDS,
  pricesUpdate,
  ...UPSTREAM_COMMANDS,
  ...BUDGET_COMMANDS,
  ...APPROVAL_COMMANDS,
  ...RULE_COMMANDS,
  alertsHistory,
  alertsAck,
  alertsResend,
  channelsList,
  channelsTry,
  digest,
  ...KEY_COMMANDS,
  profilesList,
  profilesAdd,
  profilesRemove,
  ...CONFIG_COMMANDS,
  gatewayEnv,
  otlpEnv,
  ...GATE_COMMANDS,
  capture,
  ...STATUSLINE_COMMANDS,
  dashboard,
  apply,
  audit,
  doctor,
  backup,
  restore,
  completions,
  serve,
  ...SERVICE_COMMANDS,
];
