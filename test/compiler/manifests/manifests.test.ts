/** What `stratagem manifests` writes: by the published schemas, and by what refers to what. */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { FrontEnds } from "../../../runtime/scaler/front-ends.ts";
import { LoadWatch } from "../../../runtime/scaler/load-watch.ts";
import { Triggers } from "../../../runtime/scaler/trigger.ts";
import { stratagemHere } from "../../support/cli-here.ts";
import { faultsOf } from "./kubernetes-schemas.ts";

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string }[];
  readonly resources: { readonly limits: Readonly<Record<string, string>> };
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { name: string } }[];
  readonly serviceAccountName?: string;
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly binaryData?: Readonly<Record<string, string>>;
  readonly rules?: readonly Rule[];
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly targetPort?: string; readonly port: number }[];
    readonly template?: { readonly metadata: { labels: Labels }; readonly spec: PodSpec };
    readonly predictor?: PodSpec;
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
    readonly minReplicaCount?: number;
    readonly maxReplicaCount?: number;
    readonly triggers?: readonly {
      readonly metadata: Readonly<Record<string, string>> & { readonly scalerAddress: string };
    }[];
  };
}

type Labels = Readonly<Record<string, string>>;

const POLICIES = readdirSync("policies").map((name) => `policies/${name}/bundle.msgpack`);
const INFERLINE = "policies/ocr-inferline/bundle.msgpack";

async function manifests(...args: string[]): Promise<Manifest[]> {
  const { status, stdout, stderr } = await stratagemHere("manifests", ...args);
  expect([status, stderr]).toEqual([0, ""]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

const one = (all: readonly Manifest[], kind: string): Manifest => {
  const found = all.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
};
const podOf = ({ spec }: Manifest): PodSpec | undefined => spec?.template?.spec ?? spec?.predictor;
const kinds = (all: readonly Manifest[]): string[] => all.map(({ kind }) => kind);

describe.each([
  ["by KEDA", []],
  ["by KServe", ["--kserve", "--namespace", "vision"]],
  ["in a cluster", ["--cluster", "nats://a,b,c", "--front-ends", "2", "--models-claim", "none"]],
  ["from a registry", ["--policy", "oci://registry.example/p:1"]],
])("of every policy, %s,", (_, flags) => {
  test("are what the published schemas allow, and refer to what is there", async () => {
    for (const policy of POLICIES) {
      const all = await manifests(policy, ...flags);
      expect(all.flatMap(faultsOf)).toEqual([]);
      expect(all.flatMap((object) => danglingOf(object, all))).toEqual([]);
      const names = all.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

/** What an object names that no other is. */
function danglingOf(object: Manifest, all: readonly Manifest[]): string[] {
  const { spec, metadata, rules = [] } = object;
  const has = (kind: string, name: string) =>
    all.some((other) => other.kind === kind && other.metadata.name === name);
  const pod = podOf(object);
  const volumes = pod?.volumes ?? [];
  const target = spec?.scaleTargetRef;
  const named: [string, string][] = [
    ...volumes.flatMap(({ configMap }): [string, string][] =>
      configMap === undefined ? [] : [["ConfigMap", configMap.name]],
    ),
    ...(spec?.serviceName === undefined ? [] : [["Service", spec.serviceName] as [string, string]]),
    ...(target === undefined ? [] : [[target.kind, target.name] as [string, string]]),
    ...(pod?.serviceAccountName === undefined
      ? []
      : [["ServiceAccount", pod.serviceAccountName] as [string, string]]),
    ...(spec?.triggers ?? []).map(({ metadata: trigger }): [string, string] => {
      return ["Service", trigger.scalerAddress.replace(/[.:].*/, "")];
    }),
  ];
  const mounts = pod?.containers.flatMap(({ volumeMounts = [] }) => volumeMounts) ?? [];
  const sets = rules[0]?.resourceNames ?? [];
  return [
    ...named.filter(([kind, name]) => !has(kind, name)).map((pair) => pair.join(" ")),
    ...mounts.filter(({ name }) => !volumes.some((volume) => volume.name === name)),
    ...sets.filter((name) => !has("StatefulSet", name)),
    ...(object.kind === "Service" && !isAnswered(object, all) ? [`pods of ${metadata.name}`] : []),
  ].map(String);
}

/** Whether pods have the labels of a service, and its ports. */
function isAnswered({ spec }: Manifest, all: readonly Manifest[]): boolean {
  // KServe makes the pods of what it hosts, under the name of the service.
  const hosted = spec.selector?.["serving.kserve.io/inferenceservice"];
  if (hosted !== undefined) return one(all, "InferenceService").metadata.name === hosted;
  return all.some((other) => {
    const { template } = other.spec ?? {};
    if (template === undefined) return false;
    const { labels } = template.metadata;
    const ports = template.spec.containers.flatMap((container) => container.ports);
    return (
      Object.entries(spec.selector ?? {}).every(([key, value]) => labels[key] === value) &&
      (spec.ports ?? []).every((port) => ports.some(isMeant(port)))
    );
  });
}

/** By name, or where the service is of pods themselves by number. */
function isMeant({ targetPort, port }: { readonly targetPort?: string; readonly port: number }) {
  return ({ name, containerPort }: Container["ports"][number]) => {
    return targetPort === undefined ? containerPort === port : name === targetPort;
  };
}

test("a field that Kubernetes does not know is refused by the schemas", async () => {
  const all = await manifests(INFERLINE);
  const set = one(all, "StatefulSet");
  const scaled = one(all, "ScaledObject");
  expect(faultsOf({ ...set, spec: { ...set.spec, replica: 3 } } as Manifest)).not.toEqual([]);
  expect(faultsOf({ ...set, spec: { ...set.spec, replicas: "3" } } as never)).not.toEqual([]);
  const broken = { ...scaled, spec: { ...scaled.spec, pollInterval: 30 } };
  expect(faultsOf(broken as Manifest)).not.toEqual([]);
  expect(faultsOf({ kind: "Gadget" })).toEqual(["Gadget has no schema"]);
});

test("workers follow the plan between its smallest level and the pool", async () => {
  const { stdout } = await stratagemHere("inspect", INFERLINE, "--json");
  const told = JSON.parse(stdout) as {
    levels: { plan: { stages: { replicas: number }[] } }[];
  };
  const planned = told.levels.map(({ plan }) =>
    plan.stages.reduce((sum, { replicas }) => sum + replicas, 0),
  );
  const all = await manifests(INFERLINE);
  expect(one(all, "ScaledObject").spec).toMatchObject({
    minReplicaCount: Math.min(...planned),
    maxReplicaCount: 12,
    pollingInterval: 30,
  });
  // Whoever applies the file again takes no worker away.
  expect(one(all, "StatefulSet").spec.replicas).toBeUndefined();
  const fixed = await manifests(INFERLINE, "--scaler", "none");
  expect(kinds(fixed)).not.toContain("ScaledObject");
  expect(one(fixed, "StatefulSet").spec.replicas).toBe(12);
});

const allowed = (role: Manifest): string[] =>
  (role.rules ?? []).map(({ resources, verbs, resourceNames = ["any"] }) => {
    return `${resources.join()} ${resourceNames.join()}: ${verbs.join()}`;
  });

test("only the scaler has API permissions, and only the necessary ones", async () => {
  const all = await manifests(INFERLINE);
  expect(allowed(one(all, "Role"))).toEqual(["statefulsets/scale ocr-inferline-cpu: get"]);
  const withAccount = all.filter((object) => podOf(object)?.serviceAccountName !== undefined);
  expect(withAccount.map(({ metadata }) => metadata.name)).toEqual(["ocr-inferline-scaler"]);
  const letters = await manifests("policies/letters/bundle.msgpack");
  expect(kinds(letters)).not.toContain("Role");
});

test("the scaler accepts the trigger in KEDA's configuration", async () => {
  const { bundle } = await loadBundle(INFERLINE);
  const { application } = bundle;
  const nowMs = () => 0;
  const frontEnds = new FrontEnds({ urls: [], application, read: async () => "" });
  const triggers = new Triggers(new LoadWatch({ bundle, frontEnds, nowMs }));
  const [trigger] = one(await manifests(INFERLINE), "ScaledObject").spec.triggers ?? [];
  const metadata = new Map(Object.entries(trigger?.metadata ?? {}));
  const read = triggers.read({ name: "ocr-inferline-cpu", namespace: "vision", metadata });
  expect(read).toMatchObject({ pool: "cpu", tolerance: 0.1, statefulSet: "ocr-inferline-cpu" });
});

test("a front end gets the names of all possible workers", async () => {
  const all = await manifests(INFERLINE);
  const [serve] = podOf(one(all, "Deployment"))?.containers ?? [];
  const listed = serve?.args[serve.args.indexOf("--workers") + 1] ?? "";
  const urls = listed.replace("cpu=", "").split(",");
  expect(urls).toHaveLength(12);
  expect(urls[11]).toBe("http://ocr-inferline-cpu-11.ocr-inferline-cpu:8000");
  const clustered = await manifests(INFERLINE, "--cluster", "nats://a,b,c");
  const [member] = podOf(one(clustered, "Deployment"))?.containers ?? [];
  expect(member?.args).not.toContain("--workers");
  expect(member?.args).toContain("nats://a,b,c");
});

test("the bundle that is applied is the file's, to the last byte", async () => {
  const map = one(await manifests(INFERLINE), "ConfigMap");
  const text = map.binaryData?.["bundle.msgpack"] ?? "";
  expect(Buffer.from(text, "base64").equals(readFileSync(INFERLINE))).toBe(true);
});

test("a folder gets a file for each part, which hold what the stream does", async () => {
  const folder = join(mkdtempSync(join(tmpdir(), "manifests-")), "k8s");
  const { status, stdout } = await stratagemHere("manifests", INFERLINE, "-o", folder);
  expect(status).toBe(0);
  expect(stdout).toContain(`kubectl apply -f ${folder}`);
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const files = readdirSync(folder).filter((file) => file !== "README.md");
  for (const file of files) expect(readme).toContain(`- \`${file}\`: `);
  for (const need of ["a claim `models`", ".onnx", "KEDA", "Prometheus operator"]) {
    expect(readme).toContain(need);
    expect(stdout).toContain(need);
  }
  expect(files.sort()).toEqual([
    "front-end.yaml",
    ...["monitoring.yaml", "policy.yaml", "rbac.yaml", "scaling.yaml", "workers.yaml"],
  ]);
  const inFiles = files.flatMap((file) =>
    parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((one) => one.toJS()),
  );
  const stream = await manifests(INFERLINE);
  expect(inFiles.map((object) => JSON.stringify(object)).sort()).toEqual(
    stream.map((object) => JSON.stringify(object)).sort(),
  );
});

test.each([
  [["--front-ends", "2"], "--cluster"],
  [["--models-claim", "none"], "--cluster"],
  [["--name", "Letters"], "lower-case"],
  [["--memory", "4GB"], "Mi or Gi"],
])("%j is refused with what is allowed", async (flags, allowed) => {
  const { status, stderr } = await stratagemHere("manifests", INFERLINE, ...flags);
  expect(status).toBe(64);
  expect(stderr).toContain(allowed);
});
