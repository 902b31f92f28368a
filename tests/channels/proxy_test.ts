import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { startFakeServer } from "../../plugins/smtp/_fake_server.ts";
import { startHttpReceiver, startReceiver } from "../../src/delivery/channels/testing/_receiver.ts";

const WORKER = fileURLToPath(new URL("./proxy_worker.ts", import.meta.url));
const tls = (name: string) => Deno.readTextFile(new URL(`../fixtures/tls/${name}`, import.meta.url));

Deno.test("channels ignore the proxies of the environment", async () => {
  const [cert, key, ca] = await Promise.all(["server.pem", "server.key", "ca.pem"].map(tls));
  await using proxy = await startReceiver(() => {});
  await using hook = await startHttpReceiver(() => ({ status: 202 }));
  await using mail = await startFakeServer(() => undefined);
  await using secureHook = Deno.serve(
    { hostname: "127.0.0.1", port: 0, cert: cert!, key: key!, onListen() {} },
    () => new Response(null, { status: 202 }),
  );
  const ports = { http: hook.port, https: secureHook.addr.port, smtp: mail.port };
  const url = `http://127.0.0.1:${proxy.port}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SMTP_PROXY"];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-RWENS", "--quiet", WORKER, JSON.stringify({ ...ports, ca })],
    env: {
      DENO_NO_UPDATE_CHECK: "1", // Deno looks for updates of itself after half a second
      NODE_USE_ENV_PROXY: "1",
      NODE_OPTIONS: "--use-env-proxy",
      NO_PROXY: "",
      no_proxy: "",
      ...Object.fromEntries(names.flatMap((name) => [[name, url], [name.toLowerCase(), url]])),
    },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.deepEqual(
    JSON.parse(text(stdout) || "null"),
    { http: 202, https: 202, smtp: { ok: true } },
    text(stderr),
  );
  assert.equal(proxy.connections, 0);
  assert.equal(hook.requests[0]!.path, "/secret-path");
  assert.equal(mail.mails.length, 1);
});
