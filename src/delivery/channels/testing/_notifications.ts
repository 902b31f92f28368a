import type { Notification } from "../notification.ts";

/** The notification of an alert. */
export const NOTIFICATION: Notification = {
  id: "alert_0001",
  type: "alert.triggered",
  isTest: false,
  severity: "critical",
  title: "Daily spend of researcher reached $10.25 (threshold $10)",
  facts: [{ label: "Agent", value: "researcher" }, { label: "Rule", value: "Daily limit" }],
  at: "2026-11-21T09:30:00.000Z",
  environment: "production",
  data: { alert_id: "alert_0001", rule_name: "Daily limit", value_usd: 10.25, test: false },
};

/** Texts that break naive channels: too long, emoji, bidirectional, malicious. */
export const AWKWARD_TEXTS: Readonly<Record<string, string>> = {
  "an empty text": "",
  "a text of 1 MB": "x".repeat(1024 * 1024),
  "1 MB of emoji": "👩‍👩‍👧‍👦".repeat(95_000),
  "emoji": "🔥💸 €10 spent 👍🏽",
  "a text from right to left": "\u202Eעלות \u2067اليوم\u2069 $10",
  "line ends": "one\r\nRCPT TO:<mallory@example.com>\r\n.\r\nBcc: mallory@example.com\n\u2028two\u0000\u0007",
  "mentions": "<!channel> <!here> @here @channel @everyone <@U012AB3CD> <#C012AB3CD>",
  "markup": "&<> & &lt;b&gt; <https://evil.example|click> *bold* `code` </script><b>",
  "half a surrogate pair": "a\uD83D b\uDCA9 c",
  "quotes": `"'\\ \${HOME} $(id) %s %0d%0a {{7*7}}`,
};

/** Returns a notification with this text in every free field. */
export function withText(text: string): Notification {
  return {
    ...NOTIFICATION,
    title: text,
    environment: text,
    facts: [{ label: text, value: text }, { label: "Rule", value: text }],
    data: { ...NOTIFICATION.data, rule_name: text, tags: [text] },
  };
}

/** A notification with a thousand facts. */
export const MANY_FACTS: Notification = {
  ...NOTIFICATION,
  facts: Array.from({ length: 1_000 }, (_, index) => ({ label: `Fact ${index}`, value: "v".repeat(3_000) })),
};
