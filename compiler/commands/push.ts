/** Registry commands: `push`, and `pull`, which the runtime also has. */
import type { Command } from "commander";
import { addPull } from "stratagem-runtime/internal/commands/registry-commands";
import { parseReference } from "stratagem-runtime/internal/registry/reference";
import type { Tools } from "./watched.ts";

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
    .action(async (bundle: string, text: string, { models }: { models?: string }) => {
      const { pushCommand } = await import("./push-bundle.ts");
      const reference = parseReference(text);
      const auth = { environment: process.env };
      const push = (signal: AbortSignal) =>
        pushCommand({ bundle, reference, models: models ?? null, auth, signal });
      print(await watched("pushing", ({ signal }) => push(signal)));
    });
}
