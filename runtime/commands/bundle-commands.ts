/** Adds `inspect`, which both command lines have. */
import type { Command } from "commander";
import type { ActionValuesOf } from "../methods/method.ts";
import { positiveNumber, print } from "./command-line.ts";

/**
 * Adds `inspect`.
 * @param actionValuesOf computes the values of a state's actions, if there is a solver.
 */
export function addInspect(program: Command, actionValuesOf?: ActionValuesOf): void {
  program
    .command("inspect")
    .description("show the contents of a bundle, or the load and pace of a server")
    .argument("<bundle>", "policy bundle, or the URL of a server")
    .option("--level <qps>", "show the policy of the level for this load", positiveNumber)
    .option(
      "--state <state>",
      "show the decision in a state, such as queued=7,slack=40ms or with class=NAME",
    )
    .action(async (path: string, options: { level?: number; state?: string }) => {
      const { inspectCommand } = await import("./inspect.ts");
      const loadQps = options.level ?? null;
      const state = options.state ?? null;
      print(await inspectCommand({ path, loadQps, state }, actionValuesOf));
    });
}
