/**
 * The CLI as a process that prints, when it ends, its peak memory in KB on the last line of standard error, as
 * reported by Linux. With the arguments `get` and a database it reads the snapshot of the
 * session `ses` through the API of an app in this process instead, and prints its size in bytes.
 */
addEventListener("unload", () => {
  const status = Deno.readTextFileSync("/proc/self/status");
  console.error(/^VmHWM:\s*(\d+) kB$/m.exec(status)![1]);
});

if (Deno.args[0] === "get") {
  const { openCore } = await import("../../src/service/mod.ts");
  const { createApp } = await import("../../src/http/mod.ts");
  const core = await openCore({
    config: {
      dbUrl: Deno.args[1]!,
      durability: "full",
      environment: "test",
      remoteTimeoutMs: 1_000,
      maxBodyBytes: 1_000_000,
    },
  });
  const response = await (await createApp(core)).request("/agents/ses/snapshot");
  let bytes = 0;
  for await (const chunk of response.body!) bytes += chunk.length;
  console.log(bytes);
  await core.close();
} else {
  await import("../../cli.ts");
}
