/** Command `manifests`: writes Kubernetes manifests. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { wholeNumber } from "stratagem-runtime/internal/commands/command-line";
import type { ManifestOptions } from "../manifests/manifest-options.ts";
import type { Tools } from "./watched.ts";

interface ManifestFlags {
  readonly out?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly image: string;
  readonly policy?: string;
  readonly modelsClaim: string;
  readonly cluster?: string;
  readonly frontEnds: number;
  readonly scaler: ManifestOptions["scaler"];
  readonly memory: string;
  readonly kserve?: boolean;
}

/** Limited so that object names, which append a pool's and a pod's name, stay valid. */
const NAME = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
const MEMORY = /^\d{1,6}(Mi|Gi)$/;

export function addManifests(program: Command, { watched, print, version }: Tools): void {
  program
    .command("manifests")
    .description("write Kubernetes manifests that serve a bundle")
    .argument("<bundle>", "policy bundle")
    .option("-o, --out <folder>", "output folder (default: one document on stdout)")
    .option("--name <name>", "prefix of object names (default: the application's name)", name)
    .option(
      "--namespace <name>",
      "namespace of the objects (default: none, set when they are applied)",
      name,
    )
    .option("--image <image>", "image of the runtime", `stratagem-runtime:${version}`)
    .option(
      "--policy <source>",
      "source of the bundle for pods, such as oci://… (default: a ConfigMap)",
    )
    .option(
      "--models-claim <name>",
      "claim of the volume with the models; none if pods get them with the bundle",
      "models",
    )
    .option(
      "--cluster <servers>",
      "NATS servers that connect front ends and workers, such as nats://a,b,c",
    )
    .option("--front-ends <n>", "number of front ends, which share the workers", wholeNumber, 1)
    .addOption(
      new Option("--scaler <who>", "component that sets the number of workers")
        .choices(["keda", "none"])
        .default("keda"),
    )
    .option("--memory <quantity>", "memory limit of a worker", quantity, "4Gi")
    .option("--kserve", "run the front end in KServe, as an InferenceService")
    .action(async (bundle: string, flags: ManifestFlags) => {
      const { manifestsCommand } = await import("../manifests/write-manifests.ts");
      const options = { bundle, ...optionsOf(flags) };
      print(await watched("writing manifests", () => manifestsCommand(options)));
    });
}

function optionsOf(flags: ManifestFlags) {
  const { out = null, policy = null, cluster = null, image, scaler, memory: workerMemory } = flags;
  const { namespace = null, frontEnds, kserve: isKserve = false } = flags;
  return {
    ...{ out, policy, cluster, image, scaler, workerMemory, namespace, frontEnds, isKserve },
    name: flags.name ?? null,
    modelsClaim: flags.modelsClaim === "none" ? null : flags.modelsClaim,
  };
}

function name(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidArgumentError(
    "expected a lower-case letter and up to 39 lower-case letters, digits and dashes, " +
      "without a dash at the end",
  );
}

function quantity(text: string): string {
  if (MEMORY.test(text)) return text;
  throw new InvalidArgumentError("expected Mi or Gi, such as 4Gi");
}
