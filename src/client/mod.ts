/** The typed client: in-process or remote. */
export { createApiClient, errorOf, problemError } from "./api_client.ts";
export { connect, type Connection, type ConnectOptions, type OpenDatabase, openDatabase } from "./connect.ts";
