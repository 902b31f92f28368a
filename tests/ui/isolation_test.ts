import assert from "node:assert/strict";
import { createKey, createWebSession } from "../../src/keys/mod.ts";
import { PAGE_HEADERS } from "../../src/http/middleware/response_headers.ts";
import { SECTIONS } from "../../src/ui/app/sections.ts";
import type { PageOptions } from "../harness/browser.ts";
import { type TestDashboard, testDashboard } from "../harness/dashboard.ts";

/** The dashboard beside other sites in one browser, and hostile text in it. */

const HOSTILE = "\u202e<img src=x onerror=alert(1)>\u0007";

/** Opens a page with a session of a new key. */
async function openSignedIn({ purser, browser, url }: TestDashboard, options: PageOptions = {}) {
  const { key_id: keyId, scopes } = await createKey(purser.core, {
    name: `${HOSTILE} ${crypto.randomUUID()}`,
    scopes: ["admin"],
    agentId: null,
    expiresAt: null,
  });
  const { token } = await createWebSession(purser.core, { keyId, scopes, agentId: null });
  const opened = await browser.open(`${url}/ui/`, { ...options, session: token });
  await opened.page.getByRole("button", { name: "Sign out" }).waitFor();
  return opened;
}

/** Serves one page at another origin. */
function serveOther(html: string) {
  return Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(html, { headers: { "content-type": "text/html" } }),
  );
}

testDashboard("the dashboard is isolated", {}, {
  async "every section keeps to the policy, and asks no other origin"(dashboard) {
    await using opened = await openSignedIn(dashboard);
    for (const { title } of SECTIONS) {
      await opened.page.getByRole("link", { name: title, exact: true }).click();
      await opened.page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    assert.deepEqual(opened.faults, []);
  },

  async "every file has the headers of a page"({ url }) {
    for (const path of ["/ui/", "/ui/sessions/ses_1", "/docs"]) {
      const response = await fetch(url + path);
      const html = await response.text();
      const files = [...html.matchAll(/(?:src|href)="(\/[\w/.-]+\.(?:js|css))"/g)].map(([, file]) => file!);
      assert.equal(files.length, 2, path);
      for (const file of [path, ...files]) {
        const { status, headers, body } = await fetch(url + file);
        await body?.cancel();
        assert.equal(status, 200, file);
        for (const [name, value] of Object.entries(PAGE_HEADERS)) {
          assert.equal(headers.get(name), value, file);
        }
      }
    }
  },

  async "hostile text is shown escaped"(dashboard) {
    await using opened = await openSignedIn(dashboard);
    const { page } = opened;
    const shown = await page.locator(".key-name").textContent();
    assert.ok(shown?.startsWith("\\u202e<img src=x onerror=alert(1)>\\x07 "), shown ?? "");
    assert.equal(await page.locator("img").count(), 0);
  },

  async "a link of another site opens the page, signed in"(dashboard) {
    await using opened = await openSignedIn(dashboard, { leaves: true });
    await using other = serveOther(`<a href="${dashboard.url}/ui/costs">See the costs</a>`);
    await opened.page.goto(`http://localhost:${other.addr.port}/`);
    await opened.page.getByRole("link").click();
    await opened.page.getByRole("heading", { name: "Costs" }).waitFor();
    await opened.page.getByRole("button", { name: "Sign out" }).waitFor();
  },

  async "a page at another port gets nothing, and changes nothing"(dashboard) {
    await using opened = await openSignedIn(dashboard, { leaves: true });
    const { url, purser } = dashboard;
    const read = `fetch("${url}/agents", { credentials: "include" }).then(() => "read", () => "refused")`;
    const send = `fetch("${url}/agents", { credentials: "include", mode: "no-cors" }).then(() => "sent")`;
    const write =
      `fetch("${url}/ui/session", { credentials: "include", mode: "no-cors", method: "POST", body: "{}" })`;
    await using other = serveOther(`<script>
      Promise.all([${read}, ${send}.catch(() => "refused"), ${write}.then(() => "sent", () => "refused")])
        .then((results) => document.title = results.join(" "));
    </script>`);
    // What the dashboard itself asks for is answered by then, but for its stream, which ends.
    await opened.page.getByRole("heading", { name: "Now", exact: true }).waitFor();
    await opened.page.waitForFunction(() => !document.querySelector(".skeleton"));
    await opened.page.goto("about:blank");
    purser.logs.length = 0;
    await opened.page.goto(`http://127.0.0.1:${other.addr.port}/`);
    await opened.page.waitForFunction(() => document.title !== "");
    assert.equal((await opened.page.title()).split(" ")[0], "refused");
    const answers = purser.logs.filter(({ message, fields }) =>
      message === "Answered a request" && fields.route !== "/live"
    )
      .map(({ fields }) => `${fields.method} ${fields.status}`);
    assert.deepEqual(answers.sort(), ["GET 401", "GET 401", "POST 415"]);
    await opened.page.goto(`${url}/ui/`);
    await opened.page.getByRole("button", { name: "Sign out" }).waitFor(); // the session is as it was
  },
});
