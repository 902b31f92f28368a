import type { Channel, ChannelContext, ChannelModule } from "../channel.ts";
import type { Delivery } from "../notification.ts";
import { createChannelKit } from "../load_plugin.ts";
import type { PostAnswer, PostRequest } from "../http/post_json.ts";

/** A channel opened without the registry, with its recorded effects. */
export interface OpenPlugin {
  channel: Channel;
  posts: PostRequest[];
  lines: { level: string; message: string; fields: unknown }[];
  /** A delivery as from the registry. */
  delivery: Delivery;
}

/** Opens a plugin without the registry: nothing is sent, nothing is scrubbed. */
export async function openPlugin(make: ChannelModule, options: {
  settings: unknown;
  now?: string;
  answer?: PostAnswer;
}): Promise<OpenPlugin> {
  const plugin = make(await createChannelKit());
  const posts: PostRequest[] = [];
  const lines: OpenPlugin["lines"] = [];
  const line = (level: string) => (message: string, fields: unknown) =>
    void lines.push({ level, message, fields });
  const context: ChannelContext = {
    name: "subject",
    log: { info: line("info"), warn: line("warn") },
    postJson(request) {
      posts.push(request);
      return Promise.resolve(options.answer ?? { status: 200, headers: {}, body: "ok" });
    },
    resolveHost: (host) => Promise.resolve([host]),
    now: () => Date.parse(options.now ?? "2026-11-21T09:30:00.000Z"),
  };
  const channel = await plugin.open(plugin.settings.parse(options.settings), context);
  const delivery = { signal: new AbortController().signal, deliveryId: "dlv_0001", attempt: 1 };
  return { channel, posts, lines, delivery };
}
