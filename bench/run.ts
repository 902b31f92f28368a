/** Runs every benchmark, one after the other: `deno task bench`, or some of them by name. */
const all = [
  "book_call",
  "report_events",
  "instances",
  "alert_rules",
  "alert_delivery",
  "summaries",
  "snapshots",
  "start_up",
];
const wanted = Deno.args.length > 0 ? Deno.args : all;
for (const name of wanted) {
  if (!all.includes(name)) {
    console.error(`There is no benchmark ${name}; there are ${all.join(", ")}`);
    Deno.exit(2);
  }
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", new URL(`./${name}.ts`, import.meta.url).pathname],
  }).spawn().status;
  if (!success) Deno.exit(1);
}
