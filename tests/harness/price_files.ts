import { bundledPrices } from "../../src/pricing/catalog/bundled_prices.ts";
import type { ModelPrices, PriceTable } from "../../src/pricing/catalog/price_data.ts";

/** One model of genai-prices with the given prices of input and output, in USD per million tokens. */
export interface TestPrice {
  provider: string;
  model: string;
  /** They replace those of a model that has one price each; undefined removes the model. */
  prices?: { input_mtok: number; output_mtok: number };
}

/** The release's prices of genai-prices with some models set, as they are published: a list of providers. */
export async function publishedPrices(set: readonly TestPrice[] = []): Promise<string> {
  const { genai } = await bundledPrices();
  const providers = structuredClone(genai.providers) as {
    id: string;
    models: ModelPrices[];
  }[];
  for (const { provider, model, prices } of set) {
    const found = providers.find(({ id }) => id === provider)!;
    const index = found.models.findIndex(({ id }) => id === model);
    const before = found.models[index];
    const entry = {
      match: { equals: model },
      ...before,
      id: model,
      prices: { ...before?.prices, ...prices } as PriceTable,
    };
    if (index >= 0) found.models.splice(index, 1);
    if (prices !== undefined) found.models.splice(Math.max(index, 0), 0, entry);
  }
  return JSON.stringify(providers);
}

/** A server on loopback that publishes files, each at its path. */
export interface PublishingServer extends AsyncDisposable {
  url: string;
  /** Resolves once a request for `/hanging` has arrived. */
  hanging: Promise<void>;
}

/** Starts a server of prices, good and bad. */
export function publish(files: Record<string, string>): PublishingServer {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<Response>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    const file = files[pathname.slice(1)];
    if (file !== undefined) return new Response(file, { headers: { "content-type": "text/plain" } });
    switch (pathname) {
      case "/hanging":
        arrived.resolve();
        return released.promise;
      case "/moved":
        return new Response(null, {
          status: 302,
          headers: { location: "https://prices.example.com/data.json" },
        });
      case "/huge":
        return new Response(endless());
      default:
        return new Response("<h1>Not found</h1>", { status: 404, headers: { "content-type": "text/html" } });
    }
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    hanging: arrived.promise,
    async [Symbol.asyncDispose]() {
      released.resolve(new Response(null));
      await server.shutdown();
    },
  };
}

function endless(): ReadableStream<Uint8Array> {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}
