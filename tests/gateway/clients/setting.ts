import { listen, withAccessCheck } from "../../../src/http/server/mod.ts";
import { type FakeProvider, startFakeProvider } from "../../harness/fake_provider.ts";
import { makeKey } from "../../harness/http_client.ts";
import { openTestPurser, type TestPurser } from "../../harness/test_purser.ts";
import type { Place } from "./client.ts";

/** A provider on loopback, and a gateway in front of it that listens for real clients. */
export interface Setting extends AsyncDisposable {
  fake: FakeProvider;
  purser: TestPurser;
  /** The provider itself. */
  direct: Place;
  /** The gateway, with a key that can do nothing but call models; `/openai` in front of `/v1` where a prefix names it. */
  through(prefix?: string): Place;
  /** Every request that reached the gateway, oldest first. */
  asked: { path: string; headers: Headers }[];
}

export async function openSetting({ maxRetries = 0 }: { maxRetries?: number | null } = {}): Promise<Setting> {
  const fake = await startFakeProvider();
  const purser = await openTestPurser({ fake });
  const { key } = await makeKey(purser, ["call"], { name: "laptop" });
  const asked: Setting["asked"] = [];
  const handle = withAccessCheck(purser.core, purser.app);
  const server = await listen(purser.core, (request, from) => {
    asked.push({ path: new URL(request.url).pathname, headers: request.headers });
    return handle(request, from);
  }, { host: "127.0.0.1", port: 0 });
  const place = (url: string): Place => ({ url, key, maxRetries: maxRetries ?? undefined });
  return {
    ...{ fake, purser, asked },
    direct: place(fake.url),
    through: (prefix = "") => place(server.url + prefix),
    async [Symbol.asyncDispose]() {
      await fake.close(); // what is still with it ends
      await server.shutdown({ graceMs: 0 });
      await purser[Symbol.asyncDispose]();
    },
  };
}
