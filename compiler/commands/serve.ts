/** The command `serve` of the runtime, with what only a compiler can do for it. */
import type { Command } from "commander";
import { addServe } from "stratagem-runtime/internal/commands/serve-command";

/** Adds `serve`, which here solves levels for loads above the highest, and compares promises. */
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
