/** The states of alerts after they have fired, and digests of the spending; most commands need neither. */
export { readDigest, readDigestNotification, sendDigest, writeDigests } from "./digests.ts";
export { acknowledgeAlert, resolveAlerts } from "./follow_alerts.ts";
