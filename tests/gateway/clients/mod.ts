import { aiSdkAnthropic, aiSdkGoogle, aiSdkOpenai, aiSdkOpenaiChat } from "./ai_sdk.ts";
import { anthropicSdk } from "./anthropic.ts";
import type { RealClient } from "./client.ts";
import { googleGenai, googleGenaiBeta } from "./google.ts";
import { langchainAnthropic, langchainChat, langchainResponses } from "./langchain.ts";
import { openaiChat, openaiResponses } from "./openai.ts";

/** Every client that the gateway is tested with; none of them is Purser's. */
export const realClients: readonly RealClient[] = [
  openaiChat,
  openaiResponses,
  anthropicSdk,
  googleGenai,
  googleGenaiBeta,
  langchainChat,
  langchainResponses,
  langchainAnthropic,
  aiSdkOpenai,
  aiSdkOpenaiChat,
  aiSdkAnthropic,
  aiSdkGoogle,
];

export type { Calls, Place, RealClient } from "./client.ts";
export { shown } from "./shown.ts";
