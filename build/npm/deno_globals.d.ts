/** All that the library uses of Deno, where it runs on Deno; elsewhere there is none. Nothing else of it compiles. */
interface DenoOfTheLibrary {
  readonly env: { toObject(): Record<string, string> };
  readonly build: { readonly os: string };
  test(name: string, run: () => void | Promise<void>): void;
  serve(
    options: { hostname: string; port: number; onListen(): void },
    answer: (request: Request, from: { remoteAddr: { hostname: string } }) => Response | Promise<Response>,
  ): { readonly addr: { readonly port: number }; shutdown(): Promise<void>; unref(): void };
}
// deno-lint-ignore no-var -- only so is it a property of `globalThis`
declare var Deno: DenoOfTheLibrary;
