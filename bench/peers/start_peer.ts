/** A process beside the measured one. */
export interface Peer extends AsyncDisposable {
  url: string;
  pid: number;
}

/** Starts a command, and resolves with the first text that it prints which matches. */
export async function startProcess(
  args: readonly string[],
  env: Record<string, string>,
  found: RegExp,
  program: string = Deno.execPath(),
): Promise<AsyncDisposable & { text: string; pid: number }> {
  const child = new Deno.Command(program, { args: [...args], env, stdout: "piped", stderr: "piped" })
    .spawn();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      let text = "";
      for await (const part of stream.pipeThrough(new TextDecoderStream())) {
        text = (text + part).slice(-10_000);
        const match = found.exec(text)?.[0];
        if (match) resolve(match);
      }
      reject(new Error(`It has ended: ${text}`));
    })();
  }
  return {
    text: await promise,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // it has ended already
      }
      await child.status;
    },
  };
}

/** Starts a program of this folder, which prints its port. */
export async function startPeer(name: string, ...args: string[]): Promise<Peer> {
  const path = new URL(name, import.meta.url).pathname;
  const started = await startProcess(["run", "-N", "--quiet", path, ...args], {}, /^\d+$/m);
  return Object.assign(started, { url: `http://127.0.0.1:${started.text}` });
}

/** Starts Portkey's gateway as it was installed into a folder. */
export async function startPortkey(folder: string): Promise<Peer> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const program = `${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`;
  const started = await startProcess(
    [program, `--port=${port}`, "--headless"],
    {},
    /Ready for connections/,
    "node",
  );
  return Object.assign(started, { url: `http://127.0.0.1:${port}` });
}
