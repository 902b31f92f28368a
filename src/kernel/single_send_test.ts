import assert from "node:assert/strict";
import { createServer } from "node:net";
import { openDroppingServer } from "../../tests/harness/dropping_server.ts";
import { collectGarbage } from "../../tests/harness/garbage.ts";
import { createSingleSendFetch } from "./single_send.ts";

const body = () => ReadableStream.from([new TextEncoder().encode("{}")]);

Deno.test("createSingleSendFetch() sends a request that is not idempotent once, where fetch repeats it", async () => {
  const requests: [name: string, make: () => RequestInit][] = [
    ["POST", () => ({ method: "POST", body: "{}" })],
    ["POST of a stream", () => ({ method: "POST", body: body() })],
    ["PUT", () => ({ method: "PUT", body: "{}" })],
    ["PATCH", () => ({ method: "PATCH", body: "{}" })],
    ["DELETE", () => ({ method: "DELETE" })],
  ];
  for (const [name, make] of requests) {
    await using server = await openDroppingServer();
    const send = createSingleSendFetch();
    for (let i = 0; i < 3; i++) {
      const response = i === 1 ? await send(new Request(server.url, make())) : await send(server.url, make());
      assert.equal(await response.text(), "[]", name);
    }
    assert.equal(server.arrived.length, 3, name);
  }
});

Deno.test("createSingleSendFetch() fails on a connection that ends without a response, and does not retry", async () => {
  let arrived = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => (arrived++, socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await assert.rejects(createSingleSendFetch()(`http://127.0.0.1:${port}/`, { method: "POST", body: "{}" }));
  assert.equal(arrived, 1);
  await new Promise((resolve) => server.close(resolve));
});

Deno.test("createSingleSendFetch() aborts with its signal, also while the response streams", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () =>
    new Response(
      new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("first")) }),
    ));
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const controller = new AbortController();
  const response = await createSingleSendFetch()(url, { method: "POST", signal: controller.signal });
  const reader = response.body!.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
  controller.abort();
  await assert.rejects(reader.read(), { name: "AbortError" });
  await server.shutdown();
});

Deno.test("createSingleSendFetch() aborts a body whose response was collected as garbage", async () => {
  const cancelled: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ method }) =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("first")),
        cancel: () => void cancelled.push(method),
      }),
    ));
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("it was not aborted")), 10_000);
  for (const method of ["GET", "POST"]) {
    const controller = new AbortController();
    // Nothing but the body leaves the function.
    const open = async () =>
      (await createSingleSendFetch()(url, { method, signal: controller.signal })).body!.getReader();
    const reader = await open();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
    const rest = reader.read();
    await collectGarbage();
    controller.abort();
    await assert.rejects(Promise.race([rest, late.promise]), { name: "AbortError" }, method);
  }
  clearTimeout(timer);
  await server.shutdown();
  assert.deepEqual(cancelled, ["GET", "POST"]);
});

Deno.test("createSingleSendFetch() uses the proxy of the environment", async () => {
  const asked: string[] = [];
  const proxy = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      asked.push(chunk.toString().split("\r\n")[0]!);
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as { port: number };
  const module = new URL("./single_send.ts", import.meta.url).href;
  const program = `const { createSingleSendFetch } = await import("${module}");
    await (await createSingleSendFetch()("http://purser.test/x", { method: "POST", body: "{}" })).text();`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", program],
    env: { HTTP_PROXY: `http://127.0.0.1:${port}`, http_proxy: `http://127.0.0.1:${port}`, NO_PROXY: "" },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  assert.deepEqual(asked, ["POST http://purser.test/x HTTP/1.1"]);
  await new Promise((resolve) => proxy.close(resolve));
});
