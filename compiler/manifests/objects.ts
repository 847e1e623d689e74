/** What the objects of one bundle have in common: names, labels, and how little a pod may do. */
import type { ManifestOptions, ObjectMeta } from "./manifest-options.ts";

/** Of requests, and of metrics where a listener of its own tells them. */
export const HTTP_PORT = 8000;
export const METRICS_PORT = 8002;
/** That KServe sends requests to. */
export const KSERVE_PORT = 8080;
/** Of the external scaler, as KEDA's own examples have it. */
export const SCALER_PORT = 6000;

/** As docs/deploy/Containerfile.runtime installs it; its own entry point ends with `serve`. */
export const RUNTIME_COMMAND = [
  "/usr/local/bin/node",
  "/opt/stratagem/node_modules/stratagem-runtime/dist/cli.js",
];

type Component = "front-end" | "worker" | "scaler" | "policy";

/** Labels that select the pods of a component; those of workers name the pool too. */
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

/** Labels of the pods of front ends, also of those that KServe makes. */
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

/** A name as labels of DNS are: lower case, digits and dashes, none at an end. */
export function dnsLabel(name: string): string {
  const dashed = Array.from(name.toLowerCase(), (c) => (isPlain(c) ? c : "-")).join("");
  const parts = dashed.split("-").filter((part) => part !== "");
  return parts.join("-");
}

function isPlain(character: string): boolean {
  return (character >= "a" && character <= "z") || (character >= "0" && character <= "9");
}

/** Of a pod that needs nothing of its node, nor of the API of Kubernetes. */
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

/** Ready as the routes of the protocol tell it; a start ends after ten minutes by itself. */
export function probesOf(port: number) {
  const live = { path: "/v2/health/live", port };
  return {
    startupProbe: { httpGet: live, periodSeconds: 2, failureThreshold: 300 },
    readinessProbe: { httpGet: { path: "/v2/health/ready", port }, periodSeconds: 2 },
    livenessProbe: { httpGet: live, failureThreshold: 6 },
  };
}

/** The name of a pod, as a variable that arguments can have. */
export const POD_NAME = {
  name: "POD_NAME",
  valueFrom: { fieldRef: { fieldPath: "metadata.name" } },
} as const;

const MODELS = "/srv/stratagem/models";
const POLICY = "/srv/stratagem/policy";
/** Where what is fetched is kept; the system tells its services so, and the programs look there. */
export const STATE = "/var/lib/stratagem";
const STATE_VARIABLE = { name: "STATE_DIRECTORY", value: STATE } as const;

/** Where pods have the bundle and the models, and the volumes that bring them there. */
export interface PodFiles {
  /** Value of `--policy`. */
  readonly policy: string;
  /** Flag and value of the folder of the models; empty without one. */
  readonly modelsArgs: readonly string[];
  /** Where programs keep what they fetch. */
  readonly env: readonly object[];
  readonly volumes: readonly object[];
  /** Of the bundle, as a file or as it was fetched. */
  readonly policyMounts: readonly object[];
  readonly modelMounts: readonly object[];
}

/** What is fetched is kept in a volume of the pod, since its root cannot be written. */
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
