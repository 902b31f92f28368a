/** The typed client: in-process or remote. */
export { type ApiClient, createApiClient, problemError, ProblemError, type Send } from "./api_client.ts";
export { type Connection, connect } from "./connect.ts";
