/** The commands that talk to registries: `push`, and `pull`, which the runtime has too. */
import type { Command } from "commander";
import {
  addPull,
  addRegistryOptions,
  type RegistryFlags,
  referenceOf,
  registryAuth,
} from "stratagem-runtime/internal/registry-commands";
import type { RunAndPrint } from "./explain.ts";

interface PushFlags extends RegistryFlags {
  readonly models?: string;
}

/** Adds `pull`, which a signal ends here at once. */
export function addWatchedPull(program: Command, run: RunAndPrint): void {
  addPull(program, (work) => run("pulling", work));
}

export function addPush(program: Command, run: RunAndPrint): void {
  const command = program
    .command("push")
    .description("push a bundle with its models, signature and provenance to a registry")
    .argument("<bundle>", "policy bundle")
    .argument("<reference>", "such as oci://registry.example/team/policy:1.2")
    .option("--models <folder>", "where the model files are (default: the bundle's folder)");
  addRegistryOptions(command)
    .option("--json", "one JSON document on stdout")
    .action(async (bundle: string, text: string, flags: PushFlags) => {
      const { pushCommand } = await import("./push-bundle.ts");
      const reference = referenceOf(text, flags);
      const auth = await registryAuth(flags, process.env);
      const models = flags.models ?? null;
      await run("pushing", (signal) => pushCommand({ bundle, reference, models, auth, signal }));
    });
}
