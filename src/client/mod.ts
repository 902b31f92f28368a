/** The typed client: in-process or remote. */
export {
  type ApiClient,
  createApiClient,
  errorOf,
  ProblemError,
  problemError,
  type Send,
} from "./api_client.ts";
export { connect, type Connection, type ConnectOptions, openDatabase } from "./connect.ts";
export type { DatabaseOptions, OpenDatabase } from "./open_database.ts";
