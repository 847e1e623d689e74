/** What manifests are made with, beside the bundle. */

/** Every field explicit: the command fills in what was left out. */
export interface ManifestOptions {
  /** Of all objects: theirs begin with it. A DNS label of at most 40 characters. */
  readonly name: string;
  /** Null for that of whoever applies them. */
  readonly namespace: string | null;
  /** Of the runtime; its entry point is that of docs/deploy/Containerfile.runtime. */
  readonly image: string;
  /** Where pods get the bundle, such as oci://…; null for a ConfigMap that has it. */
  readonly policy: string | null;
  /** Name of the claim whose volume holds the models; null where pods get them with the bundle. */
  readonly modelsClaim: string | null;
  /** Servers of NATS that members meet at, such as nats://a,b,c; null where workers are listed. */
  readonly cluster: string | null;
  /** Front ends; more than one needs a cluster, in which they share the workers. */
  readonly frontEnds: number;
  /** Who sets the number of workers: KEDA, which asks `stratagem-runtime scaler`, or nobody. */
  readonly scaler: "keda" | "none";
  /** What a worker may take, such as 4Gi. */
  readonly workerMemory: string;
  /** Whether KServe hosts the front end instead of a Deployment. */
  readonly isKserve: boolean;
}

/** Of one file: objects that are applied together. */
export interface ManifestFile {
  readonly file: string;
  /** What it is for, in a sentence. */
  readonly about: string;
  readonly objects: readonly KubernetesObject[];
}

/** What all objects of Kubernetes have; the rest is of their kind. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
