/** Registry commands: `push`, and `pull`, which the runtime also has. */
import type { Command } from "commander";
import {
  addPull,
  plainHttpOption,
  type RegistryFlags,
  referenceOf,
} from "stratagem-runtime/internal/commands/registry-commands";
import type { Tools } from "./watched.ts";

interface PushFlags extends RegistryFlags {
  readonly models?: string;
}

/** Adds `pull`; here, a signal ends it at once. */
export function addWatchedPull(program: Command, { watched, print }: Tools): void {
  addPull(program, async (work) => {
    print(await watched("pulling", ({ signal }) => work(signal)));
  });
}

export function addPush(program: Command, { watched, print }: Tools): void {
  program
    .command("push")
    .description("push a bundle with its models, signature and provenance to a registry")
    .argument("<bundle>", "policy bundle")
    .argument("<reference>", "destination, such as oci://registry.example/team/policy:1.2")
    .option("--models <folder>", "folder of the models (default: the bundle's folder)")
    .addOption(plainHttpOption())
    .action(async (bundle: string, text: string, flags: PushFlags) => {
      const { pushCommand } = await import("./push-bundle.ts");
      const reference = referenceOf(text, flags);
      const { models = null } = flags;
      const auth = { environment: process.env };
      const push = (signal: AbortSignal) =>
        pushCommand({ bundle, reference, models, auth, signal });
      print(await watched("pushing", ({ signal }) => push(signal)));
    });
}
