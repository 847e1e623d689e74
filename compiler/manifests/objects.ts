/** Common parts of the objects of a bundle: names, labels, and pod security. */
import type { ManifestOptions, ObjectMeta } from "./manifest-options.ts";

/** Ports of requests, and of metrics with their own listener. */
export const HTTP_PORT = 8000;
export const METRICS_PORT = 8002;
/** Port that KServe sends requests to. */
export const KSERVE_PORT = 8080;
/** Port of the external scaler, as in KEDA's examples. */
export const SCALER_PORT = 6000;

/** Command installed by docs/deploy/Containerfile.runtime, whose entry point ends with `serve`. */
export const RUNTIME_COMMAND = [
  "/usr/local/bin/node",
  "/opt/stratagem/node_modules/stratagem-runtime/dist/cli.js",
];

type Component = "front-end" | "worker" | "scaler" | "policy";

/** Labels that select the pods of a component; those of workers include the pool. */
export function selectorOf(
  { name }: ManifestOptions,
  component: Component,
  pool?: string,
): Readonly<Record<string, string>> {
  return {
    "app.kubernetes.io/name": "stratagem",
    "app.kubernetes.io/instance": name,
    "app.kubernetes.io/component": component,
    ...(pool === undefined ? {} : { "stratagem/pool": dnsLabel(pool) }),
  };
}

/** Labels of front end pods, including those that KServe creates. */
export function frontEndSelector(options: ManifestOptions): Readonly<Record<string, string>> {
  const { isKserve, name } = options;
  return isKserve
    ? { "serving.kserve.io/inferenceservice": name }
    : selectorOf(options, "front-end");
}

export function metaOf(
  options: ManifestOptions,
  name: string,
  component: Component,
  pool?: string,
): ObjectMeta {
  return {
    name,
    ...(options.namespace === null ? {} : { namespace: options.namespace }),
    labels: { ...selectorOf(options, component, pool), "app.kubernetes.io/part-of": options.name },
  };
}

/** Names of the objects, which refer to each other by them. */
export function frontEndName({ name }: ManifestOptions): string {
  return `${name}-front-end`;
}

export function workersName({ name }: ManifestOptions, pool: string): string {
  return `${name}-${dnsLabel(pool)}`;
}

export function scalerName({ name }: ManifestOptions): string {
  return `${name}-scaler`;
}

export function policyName({ name }: Pick<ManifestOptions, "name">): string {
  return `${name}-policy`;
}

/** Converts a name to a DNS label: lower case, digits and dashes, without a dash at either end. */
export function dnsLabel(name: string): string {
  const dashed = Array.from(name.toLowerCase(), (c) => (isPlain(c) ? c : "-")).join("");
  const parts = dashed.split("-").filter((part) => part !== "");
  return parts.join("-");
}

function isPlain(character: string): boolean {
  return (character >= "a" && character <= "z") || (character >= "0" && character <= "9");
}

/** Security context of a pod that needs nothing from its node or the Kubernetes API. */
export const POD_SECURITY = {
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65534,
    runAsGroup: 65534,
    seccompProfile: { type: "RuntimeDefault" },
  },
} as const;

export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;

/** Probes with the protocol's health routes; a start fails after ten minutes. */
export function probesOf(port: number) {
  const live = { path: "/v2/health/live", port };
  return {
    startupProbe: { httpGet: live, periodSeconds: 2, failureThreshold: 300 },
    readinessProbe: { httpGet: { path: "/v2/health/ready", port }, periodSeconds: 2 },
    livenessProbe: { httpGet: live, failureThreshold: 6 },
  };
}

/** Environment variable with the pod's name for arguments. */
export const POD_NAME = {
  name: "POD_NAME",
  valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
} as const;

const MODELS = "/srv/stratagem/models";
const POLICY = "/srv/stratagem/policy";
/** Folder for fetched files; systemd sets this variable for services, and the programs read it. */
export const STATE = "/var/lib/stratagem";
const STATE_VARIABLE = { name: "STATE_DIRECTORY", value: STATE } as const;

/** Places of bundle and models in pods, and their volumes. */
export interface PodFiles {
  /** Value of `--policy`. */
  readonly policy: string;
  /** Option with the folder of the models; empty without one. */
  readonly modelsArgs: readonly string[];
  /** Environment with the folder for fetched files. */
  readonly env: readonly object[];
  readonly volumes: readonly object[];
  /** Mounts of the bundle, as a file or fetched. */
  readonly policyMounts: readonly object[];
  readonly modelMounts: readonly object[];
}

/** Fetched files are kept in a volume of the pod, since its root is read-only. */
export function podFilesOf({ name, policy, modelsClaim, cluster }: PodFilesAsked): PodFiles {
  const configMap = { name: "policy", configMap: { name: policyName({ name }) } };
  const claim = {
    name: "models",
    persistentVolumeClaim: { claimName: modelsClaim ?? "", readOnly: true },
  };
  const keeps = policy !== null || cluster !== null;
  return {
    policy: policy ?? `${POLICY}/bundle.msgpack`,
    modelsArgs: modelsClaim === null ? [] : ["--models", MODELS],
    env: keeps ? [STATE_VARIABLE] : [],
    volumes: [
      ...(policy === null ? [configMap] : []),
      ...(modelsClaim === null ? [] : [claim]),
      ...(keeps ? [{ name: "state", emptyDir: {} }] : []),
    ],
    policyMounts: [
      ...(policy === null ? [{ name: "policy", mountPath: POLICY, readOnly: true }] : []),
      ...(keeps ? [{ name: "state", mountPath: STATE }] : []),
    ],
    modelMounts:
      modelsClaim === null ? [] : [{ name: "models", mountPath: MODELS, readOnly: true }],
  };
}

type PodFilesAsked = Pick<ManifestOptions, "name" | "policy" | "modelsClaim" | "cluster">;
