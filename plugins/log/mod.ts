import type { ChannelKit } from "../../src/delivery/channels/mod.ts";

/** The maximum length of a text in a log line. */
const MAX_TEXT_CHARS = 2_000;

/** Writes each notification as one warning-level line of the structured log. It never fails. */
export default ({ defineChannel, z, cutText }: ChannelKit) => {
  const cutTexts = (value: unknown): unknown => {
    if (typeof value === "string") return cutText(value, MAX_TEXT_CHARS);
    if (Array.isArray(value)) return value.map(cutTexts);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cutTexts(part)]));
  };
  return defineChannel({
    kind: "log",
    summary: "Writes a warning-level line to Purser's own log",
    settings: z.object({}),
    open: (_settings, { log }) => ({
      send({ id, type, isTest, severity, title, at, environment, data }, { deliveryId, attempt }) {
        log.warn(cutText(title, MAX_TEXT_CHARS), {
          id,
          type,
          severity,
          test: isTest,
          environment: cutText(environment, MAX_TEXT_CHARS),
          happened_at: at,
          data: cutTexts(data),
          delivery_id: deliveryId,
          attempt,
        });
        return { ok: true };
      },
    }),
  });
};
