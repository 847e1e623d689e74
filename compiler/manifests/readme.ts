/** Describes a folder of manifests: contents, order of application, and prerequisites. */
import type { ManifestFile, ManifestOptions } from "./manifest-options.ts";

/** @param folder as it was given. @param models names of the files that pods need. */
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
    "Written by `stratagem manifests`; to change it, generate it again.",
    "",
    "## Prerequisites",
    "",
    ...needsOf(files, options, models).map((need) => `- ${need}`),
    "",
    "## Manifests",
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

/** In the order in which a missing one would be noticed. */
export function needsOf(
  files: readonly ManifestFile[],
  { image, modelsClaim, cluster, policy, isKserve, namespace }: ManifestOptions,
  models: readonly string[],
): string[] {
  const kinds = new Set(files.flatMap(({ objects }) => objects.map(({ kind }) => kind)));
  const listed = models.join(", ");
  const claim = `a claim \`${modelsClaim}\` of a volume that all pods can read, with ${listed}`;
  const nats = `NATS with JetStream at \`${cluster}\`, and its client in the image`;
  const monitoring =
    "the Prometheus operator, for monitoring.yaml; without it, leave that file out";
  return [
    ...(namespace === null ? [] : [`the namespace \`${namespace}\``]),
    `the image \`${image}\` in a registry of the nodes (docs/ship.md)`,
    ...(modelsClaim === null ? [] : [claim]),
    ...(cluster === null ? [] : [nats]),
    ...(policy === null ? [] : [`the bundle at \`${policy}\`, readable by pods`]),
    ...(kinds.has("ScaledObject") ? ["KEDA 2.9 or newer, for scaling.yaml"] : []),
    ...(isKserve ? ["KServe, for inference-service.yaml"] : []),
    ...(kinds.has("PodMonitor") ? [monitoring] : []),
  ];
}

function namespaceFlag({ namespace }: ManifestOptions): string {
  return namespace === null ? "" : ` -n ${namespace}`;
}
