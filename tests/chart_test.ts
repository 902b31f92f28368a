import assert from "node:assert/strict";
import { join } from "node:path";
import { parseAllDocuments } from "#dev/yaml.ts";
import { ROOT } from "../build/run_deno.ts";
import { VERSION } from "../src/kernel/version.ts";
import { said } from "./harness/node.ts";

/**
 * The chart, rendered by Helm itself. Helm is no package of Debian: `go install helm.sh/helm/v3/cmd/helm@v3.22.0` builds it, in
 * minutes, so the gate doesn't have it. No cluster has run the chart.
 */

const CHART = join(ROOT, "deploy/chart");
const missing = await said("helm", ["version"]).then(() => undefined, () => "helm is not on the PATH");

// deno-lint-ignore no-explicit-any -- manifests of Kubernetes, for a test to look into
type Manifest = any;

async function render(...settings: string[]): Promise<Map<string, Manifest>> {
  const set = settings.flatMap((setting) => ["--set-json", setting]);
  const text = await said("helm", ["template", "books", CHART, "--kube-version", "1.31.0", ...set]);
  const documents = parseAllDocuments(text).map((each) => {
    assert.deepEqual(each.errors, []);
    return each.toJS();
  });
  return new Map(documents.filter((each) => each !== null).map((each) => [each.kind, each]));
}

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `chart: ${name}${missing ? ` (${missing})` : ""}`, ignore: missing !== undefined, fn });
}

Deno.test("chart: it has the version of Purser", async () => {
  const text = await Deno.readTextFile(join(CHART, "Chart.yaml"));
  assert.match(text, new RegExp(`^version: ${VERSION}$`, "m"));
  assert.match(text, new RegExp(`^appVersion: ${VERSION}$`, "m"));
});

test("a pod over a file runs without root, capabilities or a file system to write, with probes and a volume", async () => {
  await said("helm", ["lint", "--strict", CHART]);
  const manifests = await render();
  assert.deepEqual([...manifests.keys()].sort(), ["Service", "StatefulSet"]);
  const { template, volumeClaimTemplates } = manifests.get("StatefulSet").spec;
  const [container] = template.spec.containers;
  assert.equal(template.spec.securityContext.runAsNonRoot, true);
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.equal(container.image, `purser:${VERSION}`);
  assert.equal(container.readinessProbe.httpGet.path, "/readyz");
  assert.equal(container.livenessProbe.httpGet.path, "/healthz");
  assert.deepEqual(container.env.map(({ name }: Manifest) => name), ["DENO_NO_UPDATE_CHECK"]);
  assert.equal(volumeClaimTemplates[0].spec.resources.requests.storage, "10Gi");
  const { selector } = manifests.get("Service").spec;
  for (const [label, value] of Object.entries(selector)) assert.equal(template.metadata.labels[label], value);
});

test("over a server its URL and the secrets are variables, and everything optional is there if it is enabled", async () => {
  const manifests = await render(
    'database={"kind":"postgres","url":"postgres://purser@db/purser","tokenSecret":{"name":"db","key":"password"}}',
    "replicas=3",
    'providersSecret="providers"',
    'config={"trusted_proxies":["10.0.0.0/8"]}',
    'podDisruptionBudget={"enabled":true}',
    'serviceMonitor={"enabled":true,"keySecret":{"name":"metrics"},"labels":{"release":"prometheus"}}',
    'networkPolicy={"enabled":true}',
    'ingress={"enabled":true,"tlsSecret":"tls","className":"nginx"}',
  );
  assert.deepEqual([...manifests.keys()].sort(), [
    ...["ConfigMap", "Ingress", "NetworkPolicy", "PodDisruptionBudget"],
    ...["Service", "ServiceMonitor", "StatefulSet"],
  ]);
  const [container] = manifests.get("StatefulSet").spec.template.spec.containers;
  assert.deepEqual(container.env.slice(0, 2), [
    { name: "PURSER_DB", value: "postgres://purser@db/purser" },
    { name: "PURSER_DB_TOKEN", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
  ]);
  assert.deepEqual(container.envFrom, [{ secretRef: { name: "providers" } }]);
  assert.deepEqual(JSON.parse(manifests.get("ConfigMap").data["purser.json"]), {
    trusted_proxies: ["10.0.0.0/8"],
  });
  assert.equal(manifests.get("ServiceMonitor").metadata.labels.release, "prometheus");
  assert.deepEqual(manifests.get("ServiceMonitor").spec.endpoints[0].authorization.credentials, {
    name: "metrics",
    key: "api-key",
  });
  assert.deepEqual(manifests.get("NetworkPolicy").spec.egress, [{}]);
  assert.equal(manifests.get("Ingress").spec.rules[0].http.paths[0].backend.service.name, "books");
});

test("values that can't work are refused with the reason", async () => {
  for (
    const [settings, reason] of [
      [["replicas=2"], /Cannot run several replicas over a file/],
      [['database.kind="libsql"'], /database\.url is missing/],
      [['database.kind="mysql"'], /must be file, libsql or postgres/],
    ] as const
  ) {
    await assert.rejects(render(...settings), reason);
  }
  const [container] = (await render("setup=true")).get("StatefulSet").spec.template.spec.containers;
  assert.deepEqual([container.args, container.startupProbe], [["serve"], undefined]);
});
