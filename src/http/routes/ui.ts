import type { Context } from "hono";
import { PurserError } from "../../kernel/errors.ts";
import { toHex } from "../../kernel/encoding.ts";
import type { Permission } from "../middleware/permission.ts";
import type { ApiEnv } from "../middleware/principal.ts";
import { matchesWeakly, PAGE_HEADERS } from "../middleware/response_headers.ts";
import { withBody } from "../middleware/served_body.ts";
import { createRouter, type Router } from "../router.ts";

/** The dashboard: the same page for every path below `/ui/`, and the script and the style that it loads. */

/** They are no operations of the API, and so not in its document. */
export const permissions: ReadonlyMap<string, Permission> = new Map(
  ["GET /ui", "GET /ui/*"].map((route) => [route, { scopes: "open" }]),
);

/** A file of the dashboard in the forms in which it is sent. */
interface File {
  plain: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
  headers: Record<string, string>;
}

/** The files that have been prepared in this process. */
let prepared: Files | undefined;

interface Files {
  page: File;
  assets: ReadonlyMap<string, File>;
}

async function prepare(): Promise<Files> {
  const { PAGE, SCRIPT, STYLE } = await import("../../ui/mod.ts");
  const forGood = "public, max-age=31536000, immutable";
  const assets = [
    [SCRIPT.path, await prepareFile(SCRIPT.text, "text/javascript; charset=UTF-8", forGood)],
    [STYLE.path, await prepareFile(STYLE.text, "text/css; charset=UTF-8", forGood)],
  ] as const;
  return {
    page: await prepareFile(PAGE, "text/html; charset=UTF-8", "no-cache"),
    assets: new Map(assets),
  };
}

async function prepareFile(text: string, type: string, cacheControl: string): Promise<File> {
  const plain = new TextEncoder().encode(text);
  const packed = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", plain));
  return {
    plain,
    gzip: new Uint8Array(await new Response(packed).arrayBuffer()),
    headers: {
      "content-type": type,
      "cache-control": cacheControl,
      // Weak, since it is the same for both encodings.
      etag: `W/"${toHex(digest.subarray(0, 16))}"`,
      vary: "accept-encoding",
      ...PAGE_HEADERS,
    },
  };
}

export function createRoutes(): Router {
  const router = createRouter();
  router.get("/ui", (c) => c.redirect("/ui/", 308));
  router.get("/ui/*", async (c) => {
    // No promise is shared: at an edge, the work of a request ends with it, and others would wait for ever.
    const { page, assets } = prepared ??= await prepare();
    const { path } = c.req;
    if (!path.startsWith("/ui/assets/")) return respond(c, page);
    const asset = assets.get(path);
    if (asset) return respond(c, asset);
    throw new PurserError(
      "not_found",
      `Cannot find ${path}: the dashboard is another version now; reload it`,
    );
  });
  return router;
}

function respond(c: Context<ApiEnv>, { plain, gzip, headers }: File): Response {
  const known = c.req.header("if-none-match");
  if (known !== undefined && matchesWeakly(known, headers.etag!)) {
    const { "content-type": _, ...ofUnchanged } = headers;
    return new Response(null, { status: 304, headers: ofUnchanged });
  }
  if (!acceptsGzip(c.req.header("accept-encoding"))) {
    return withBody(new Response(plain, { headers }), plain);
  }
  // At an edge the platform would compress it again, unless `encodeBody` says that it is compressed.
  const init: ResponseInit & { encodeBody: "manual" } = {
    headers: { ...headers, "content-encoding": "gzip" },
    encodeBody: "manual",
  };
  return withBody(new Response(gzip, init), gzip);
}

/** Returns whether an `Accept-Encoding` lists gzip, and doesn't refuse it by `q=0`. */
function acceptsGzip(header = ""): boolean {
  return header.split(",").some((one) =>
    /^\s*gzip\s*(;\s*q\s*=\s*(0\.\d*[1-9]|1))?/.test(one) && !/q\s*=\s*0(\.0*)?\s*$/.test(one)
  );
}
