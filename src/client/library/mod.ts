/** The methods of the library that read what the API returns, typed, and the options of the others. */
export { type CostsOptions, readCosts } from "./costs.ts";
export { readSessions, type SessionsOptions } from "./sessions.ts";
export {
  type AgentInput,
  type CloseOptions,
  type ExportOptions,
  type ImportSessionOptions,
  METER_NAMES,
  type MeterOptions,
  OPTION_NAMES,
  type PriceRow,
  type RunOptions,
} from "./options.ts";
