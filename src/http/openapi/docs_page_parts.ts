/** A link to an operation or a schema opens it. */
export const SCRIPT = `
const open = () => { const it = document.getElementById(location.hash.slice(1)); if (it) { it.open = true; it.scrollIntoView(); } };
addEventListener("hashchange", open); open();`;

export const STYLE = `
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1 small{font-weight:400;opacity:.6}h2{margin-top:2rem;text-transform:capitalize}
details{border:1px solid var(--line);border-radius:.4rem;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}summary span{opacity:.75;margin-left:.5rem}
b{display:inline-block;min-width:4.2rem;font-family:ui-monospace,monospace}
.get{color:#1a7f37}.post{color:#0969da}.put{color:#9a6700}.delete{color:#cf222e}.patch{color:#8250df}
table{border-collapse:collapse;width:100%;table-layout:fixed;margin:.5rem 0}td:first-child{width:9rem}td{border-top:1px solid var(--line);padding:.25rem .5rem;vertical-align:top;overflow-wrap:anywhere}
pre{overflow:auto;font-size:.85rem}code{font-family:ui-monospace,monospace}`;
