import type { FakeProvider } from "../harness/fake_provider.ts";

/** A request as a plain provider has received it. */
export interface PlainRequest {
  method: string;
  /** The path, with its query. */
  path: string;
  headers: Headers;
  body: string;
}

/** A provider that answers any path with any response. `await using` closes it. */
export interface PlainProvider extends AsyncDisposable, Pick<FakeProvider, "baseUrls"> {
  requests: PlainRequest[];
}

export function startPlainProvider(answer: (request: PlainRequest) => Response): PlainProvider {
  const requests: PlainRequest[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (raw) => {
    const { pathname, search } = new URL(raw.url);
    const { method, headers } = raw;
    const request = { method, path: pathname + search, headers, body: await raw.text() };
    requests.push(request);
    return answer(request);
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return {
    baseUrls: {
      openai: `${url}/v1`,
      anthropic: `${url}/v1`,
      google: `${url}/v1beta`,
      compatible: `${url}/v1`,
    },
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
