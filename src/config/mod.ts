/** The configuration: the config file, its profiles, environment variables, and where the database is. */
export type { PriceOverride } from "../contract/price_override.ts";
export {
  type ChannelConfig,
  type ChannelHead,
  listChannels,
  nameChannels,
  type QuietHours,
  quietUntil,
} from "./channels.ts";
export { SETTING_ROWS, type Settings, withDefaults } from "./settings.ts";
export { describeIssue } from "./file/describe_issue.ts";
export { loadConfig, openProfiles, readConfigPrices, readKeyFile } from "./load_config.ts";
export { type BillSetting, type Config, type ProviderSettings, secretsOf } from "./config.ts";
export {
  currentPlatform,
  type Environment,
  findDataFile,
  findDefaultDatabase,
  findSpoolFolder,
  findUpdateFile,
  type Platform,
  readEnvironment,
} from "./environment.ts";
export type { ListedProfile } from "./profiles_file.ts";
export {
  billedProviders,
  credentialsOf,
  findOwnAddress,
  isOfCredential,
  type ListenAddress,
  mayPassHeader,
  type ProviderSources,
  providersWithKeys,
  readProviderAccess,
  withNames,
  withQuery,
} from "./provider_access.ts";
