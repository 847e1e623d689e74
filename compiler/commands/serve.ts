/** Command `serve` of the runtime with the features that need a compiler. */
import type { Command } from "commander";
import { addServe } from "stratagem-runtime/internal/commands/serve-command";

/** Adds `serve` with solving of levels above the highest load and comparing of promises. */
export function addSolvingServe(program: Command): void {
  addServe(program, {
    generateLevel: async (bundle, loadQps, signal) => {
      const { solveLevelOf } = await import("../processes/level-pool.ts");
      return solveLevelOf(bundle, loadQps, signal);
    },
    gateOf: async (allowed) => {
      const { servingGate } = await import("../gate/serving-gate.ts");
      return servingGate(allowed);
    },
  });
}
