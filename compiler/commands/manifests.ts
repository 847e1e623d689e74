/** The command `manifests`, which writes what Kubernetes is to run. */
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

/** Names of objects are put together of it, a pool's and a pod's. */
const NAME = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
const MEMORY = /^\d{1,6}(Mi|Gi)$/;

export function addManifests(program: Command, { watched, print, version }: Tools): void {
  program
    .command("manifests")
    .description("write what Kubernetes needs to serve a bundle")
    .argument("<bundle>", "policy bundle")
    .option("-o, --out <folder>", "where to write the files (default: all as one on stdout)")
    .option("--name <name>", "what names of objects begin with (default: the application's)", name)
    .option("--namespace <name>", "of the objects (default: of whoever applies them)", name)
    .option("--image <image>", "of the runtime", `stratagem-runtime:${version}`)
    .option(
      "--policy <source>",
      "where pods get the bundle, such as oci://… (default: a ConfigMap)",
    )
    .option(
      "--models-claim <name>",
      "claim of the volume with the models; none where pods get them with the bundle",
      "models",
    )
    .option("--cluster <servers>", "nats://a,b,c, where front ends and workers meet")
    .option("--front-ends <n>", "front ends, which share the workers", wholeNumber, 1)
    .addOption(
      new Option("--scaler <who>", "who sets the number of workers")
        .choices(["keda", "none"])
        .default("keda"),
    )
    .option("--memory <quantity>", "what a worker may take", quantity, "4Gi")
    .option("--kserve", "have KServe host the front end, as an InferenceService")
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
    "expected a letter and up to 39 lower-case letters, digits and dashes, no dash at the end",
  );
}

function quantity(text: string): string {
  if (MEMORY.test(text)) return text;
  throw new InvalidArgumentError("expected Mi or Gi, such as 4Gi");
}
