/** `deno task ui`: bundles the dashboard from `src/ui` into the file that the server sends it from. */
import { bundleUi, UI_BUNDLE } from "./bundle_ui.ts";

const text = await bundleUi();
await Deno.writeTextFile(UI_BUNDLE, text);
const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
const { byteLength } = await new Response(packed).arrayBuffer();
console.log(
  `The dashboard has ${Math.round(text.length / 1000)} kB, ${Math.round(byteLength / 1000)} kB compressed`,
);
