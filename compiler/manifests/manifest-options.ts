/** Options of manifests in addition to the bundle. */

/** Every field is explicit: the command fills in defaults. */
export interface ManifestOptions {
  /** Prefix of all object names. DNS label of at most 40 characters. */
  readonly name: string;
  /** Null for the namespace that they are applied in. */
  readonly namespace: string | null;
  /** Image of the runtime; its entry point is that of docs/deploy/Containerfile.runtime. */
  readonly image: string;
  /** Source of the bundle for pods, such as oci://…; null for a ConfigMap with the bundle. */
  readonly policy: string | null;
  /** Claim of the volume with the models; null if pods get them with the bundle. */
  readonly modelsClaim: string | null;
  /** NATS servers of the cluster, such as nats://a,b,c; null if workers are listed. */
  readonly cluster: string | null;
  /** Number of front ends; more than one needs a cluster, in which they share the workers. */
  readonly frontEnds: number;
  /**
   * Sets the number of workers: KEDA, which queries `stratagem-runtime scaler`, or none for a fixed
   * number.
   */
  readonly scaler: "keda" | "none";
  /** Memory limit of a worker, such as 4Gi. */
  readonly workerMemory: string;
  /** True to host the front end in KServe instead of a Deployment. */
  readonly isKserve: boolean;
}

/** File of objects that are applied together. */
export interface ManifestFile {
  readonly file: string;
  /** Purpose, as a sentence. */
  readonly about: string;
  readonly objects: readonly KubernetesObject[];
}

/** Fields common to all Kubernetes objects. */
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
