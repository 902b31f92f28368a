/** The typed client: in-process or remote. */
export { createApiClient, errorOf, problemError } from "./api_client.ts";
export { connect, type Connection, type ConnectOptions, openDatabase } from "./connect.ts";
export type { OpenDatabase } from "./open_database.ts";
