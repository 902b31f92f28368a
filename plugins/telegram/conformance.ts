import type { ConformanceOptions } from "../../src/delivery/channels/testing/conformance.ts";

const TOKEN = "123456789:AAt0kensecret-t0kensecret_t0kensecret";

/** The options of the conformance suite for this channel. */
export const conformance: ConformanceOptions = {
  kind: "telegram",
  reaches: "http",
  settings: ({ url }) => ({
    token: TOKEN,
    chat_id: "-1001234567890",
    message_thread_id: 7,
    server: url,
  }),
  secrets: [TOKEN],
  wrongSettings: [
    { settings: {}, says: /token: is missing; chat_id: is missing/ },
    { settings: { token: "AAt0kensecret", chat_id: "1" }, says: /token: must be the token of a bot/ },
    {
      settings: { token: TOKEN, chat_id: "purser" },
      says: /chat_id: must be the number of a chat in quotes/,
    },
    { settings: { token: TOKEN, chat_id: -100 }, says: /chat_id: is a number, must be a text/ },
  ],
};
