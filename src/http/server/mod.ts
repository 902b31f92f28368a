/** The servers that listen for the app, and the access check in front of it. */
export { withAccessCheck } from "../middleware/access_check.ts";
export { checkLoopbackRequest } from "../middleware/loopback.ts";
export { type Handler, listen, type Listening, listenOptionsOf, serve } from "./listen.ts";
