/** Adds `inspect`, which both command lines have. */
import type { Command } from "commander";
import type { ActionValuesOf } from "../methods/method.ts";
import { positiveNumber, print } from "./command-line.ts";

/**
 * Adds `inspect`.
 * @param actionValuesOf what a state's actions are worth, where there is a solver.
 */
export function addInspect(program: Command, actionValuesOf?: ActionValuesOf): void {
  program
    .command("inspect")
    .description("show what a bundle says, or the load and the pace of a server")
    .argument("<bundle>", "policy bundle, or the URL of a server")
    .option("--level <qps>", "the policy of the level that decides at this load", positiveNumber)
    .option(
      "--state <state>",
      "the decision in a state, such as queued=7,slack=40ms; class=NAME beside it",
    )
    .action(async (path: string, options: { level?: number; state?: string }) => {
      const { inspectCommand } = await import("./inspect.ts");
      const loadQps = options.level ?? null;
      const state = options.state ?? null;
      print(await inspectCommand({ path, loadQps, state }, actionValuesOf));
    });
}
