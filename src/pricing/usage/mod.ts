/** Reads the usage that providers and the AI SDK report, each in its own form. */
export { type AnswerUsage, trackAnswerUsage, usageFromAiSdk } from "./answer_usage.ts";
export { type Asked, askedIn, readAsked } from "./asked.ts";
export { type Fields, isFields } from "./fields.ts";
export { CACHE_WRITE_LIFETIME, faultOfUsage } from "./usage.ts";
export type { Statement } from "../stated/statement.ts";
export { type UsageApi, usageFromRaw } from "./usage_from_raw.ts";
