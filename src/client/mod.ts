/** The typed client: in-process or remote. */
export {
  type ApiClient,
  createApiClient,
  errorOf,
  ProblemError,
  problemError,
  type Send,
} from "./api_client.ts";
export {
  connect,
  type Connection,
  type ConnectOptions,
  explainBusyFile,
  glance,
  ownDatabase,
} from "./connect.ts";
export type { OwnedDatabase, OwnOptions } from "./own_database.ts";
