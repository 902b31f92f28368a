export { Webhook } from "npm:standardwebhooks@1.1.1";
