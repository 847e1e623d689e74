/** What lies in a folder of manifests, in which order it is applied, and what has to be there. */
import type { ManifestFile, ManifestOptions } from "./manifest-options.ts";

/** @param folder as it was named. @param models names of the files that pods look for. */
export function readmeOf(
  folder: string,
  files: readonly ManifestFile[],
  options: ManifestOptions,
  models: readonly string[],
): string {
  const rows = files.map(({ file, about, objects }) => {
    const kinds = [...new Set(objects.map(({ kind }) => kind))].join(", ");
    return `- \`${file}\`: ${about} (${kinds})`;
  });
  return [
    `# ${options.name} on Kubernetes`,
    "",
    "Written by `stratagem manifests`; write it again rather than change it.",
    "",
    "## What has to be there",
    "",
    ...needsOf(files, options, models).map((need) => `- ${need}`),
    "",
    "## What is applied",
    "",
    ...rows,
    "",
    "```sh",
    `kubectl apply -f ${folder}${namespaceFlag(options)}`,
    `kubectl rollout status deployment,statefulset -l app.kubernetes.io/instance=${options.name}`,
    "```",
    "",
  ].join("\n");
}

/** In the order in which they are missed. */
export function needsOf(
  files: readonly ManifestFile[],
  { image, modelsClaim, cluster, policy, isKserve, namespace }: ManifestOptions,
  models: readonly string[],
): string[] {
  const kinds = new Set(files.flatMap(({ objects }) => objects.map(({ kind }) => kind)));
  const listed = models.join(", ");
  const claim = `a claim \`${modelsClaim}\` of a volume that all pods may read, with ${listed}`;
  const nats = `NATS with JetStream at \`${cluster}\`, and its client in the image`;
  const monitoring = "Prometheus' operator, for monitoring.yaml; else leave that out";
  return [
    ...(namespace === null ? [] : [`the namespace \`${namespace}\``]),
    `the image \`${image}\`, which nodes can pull (docs/ship.md)`,
    ...(modelsClaim === null ? [] : [claim]),
    ...(cluster === null ? [] : [nats]),
    ...(policy === null ? [] : [`the bundle at \`${policy}\`, which pods may read`]),
    ...(kinds.has("ScaledObject") ? ["KEDA 2.9 or newer, for scaling.yaml"] : []),
    ...(isKserve ? ["KServe, for inference-service.yaml"] : []),
    ...(kinds.has("PodMonitor") ? [monitoring] : []),
  ];
}

function namespaceFlag({ namespace }: ManifestOptions): string {
  return namespace === null ? "" : ` -n ${namespace}`;
}
