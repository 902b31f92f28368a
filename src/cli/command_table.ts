import { type Command, flag, option, type OptionSpec } from "./command.ts";

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

const bills = () => import("./commands/bills/bills.ts").then((all) => Object.values(all).flat());
const environment = () =>
  import("./commands/env/env_commands.ts").then((all) => [all.gatewayEnv, all.otlpEnv, all.capture]);
const gates = () => import("./commands/gate/gate.ts").then((all) => Object.values(all).flat());
const keys = () => import("./commands/keys/keys.ts").then((all) => all.KEY_COMMANDS);
const sources = () => import("./commands/sources/sources.ts").then((all) => [all.sources, all.plans]);
const channels = () => import("./commands/channels/channels.ts").then((all) => Object.values(all));
const authored = () => import("./commands/authored_commands.ts").then((all) => [all.apply, all.audit]);
const backups = () => import("./commands/backup/backup.ts").then((all) => [all.backup, all.restore]);

/**
 * Loads the commands of each first word, in the order of the help. An option of one name has one type in all commands, so
 * that it may stand anywhere on the line.
 */
const LOADERS: Readonly<Record<string, () => Promise<readonly Command[]>>> = {
  run: () => import("./commands/run.ts").then((all) => [all.run]),
  demo: () => import("./commands/demo.ts").then((all) => [all.demo]),
  agents: () => import("./commands/agents/agents.ts").then((all) => all.AGENT_COMMANDS),
  sessions: () =>
    import("./commands/sessions/sessions.ts").then((all) => [all.sessionsList, all.sessionsShow]),
  state: () =>
    Promise.all([
      import("./commands/state/state_export.ts"),
      import("./commands/state/state_show.ts"),
      import("./commands/state/state_import.ts"),
    ]).then(([out, shown, back]) => [out.stateExport, shown.stateShow, back.stateImport, shown.stateReplay]),
  cost: () =>
    Promise.all([import("./commands/cost/cost.ts"), import("./commands/cost/cost_explain.ts")])
      .then(([{ cost }, { costExplain }]) => [cost, costExplain]),
  import: () => import("./commands/import/import.ts").then((all) => [all.importCommand]),
  sources,
  plans: sources,
  report: () => import("./commands/report/report.ts").then((all) => [all.report]),
  bills,
  reconcile: bills,
  export: bills,
  statement: bills,
  reprice: () =>
    import("./commands/reprice/reprice.ts")
      .then((all) => [all.reprice, all.repriceList, all.repriceApply, all.repriceUndo]),
  prices: () =>
    Promise.all([import("./commands/prices/prices.ts"), import("./commands/prices/set_prices.ts")])
      .then(([all, { PRICE_COMMANDS }]) => [all.pricesShow, ...PRICE_COMMANDS, all.pricesUpdate]),
  upstreams: bills,
  budgets: () => import("./commands/budgets/budgets.ts").then((all) => all.BUDGET_COMMANDS),
  approvals: () => import("./commands/approvals/approvals.ts").then((all) => all.APPROVAL_COMMANDS),
  alerts: () =>
    Promise.all([import("./commands/alerts/alert_rules.ts"), import("./commands/alerts/alerts_history.ts")])
      .then(([rules, all]) => [...rules.RULE_COMMANDS, all.alertsHistory, all.alertsAck, all.alertsResend]),
  channels,
  digest: channels,
  keys,
  whoami: keys,
  profiles: () =>
    import("./commands/profiles/profiles.ts")
      .then((all) => [all.profilesList, all.profilesAdd, all.profilesRemove]),
  config: () => import("./commands/config/config.ts").then((all) => all.CONFIG_COMMANDS),
  gateway: environment,
  otlp: environment,
  gate: gates,
  capture: environment,
  statusline: gates,
  dashboard: () => import("./commands/dashboard.ts").then((all) => [all.dashboard]),
  apply: authored,
  audit: authored,
  doctor: () => import("./commands/doctor.ts").then((all) => [all.doctor]),
  backup: backups,
  restore: backups,
  completions: () => import("./commands/completions.ts").then((all) => [all.completions]),
  serve: () => import("./commands/serve.ts").then((all) => [all.serve]),
  service: () => import("./commands/service/service.ts").then((all) => all.SERVICE_COMMANDS),
};

/** Loads the commands whose names begin with a word; there are none if it begins no command. */
export async function loadCommands(word = ""): Promise<readonly Command[]> {
  if (!Object.hasOwn(LOADERS, word)) return [];
  return (await LOADERS[word]!()).filter(({ name }) => name.split(" ")[0] === word);
}

/** Loads every command, in the order of the help. */
export async function loadAllCommands(): Promise<readonly Command[]> {
  return (await Promise.all(Object.keys(LOADERS).map(loadCommands))).flat();
}
