import type {
  ActionValues,
  Bundle,
  Expected,
  Level,
  NoActionValues,
} from "../../runtime/bundle/schema.ts";
import type { Application } from "../spec/application.ts";
import type { Mistake } from "../spec/mistakes.ts";

/** A bundle without its levels: what they all share, and all that a solver needs to compute one. Plain data, so it can cross threads. */
export type BundleFrame = Omit<Bundle, "levels" | "provenance">;

/** Model files as the compiler read them, by the path the application gives. */
export type ModelFiles = ReadonlyMap<string, Bundle["tasks"][number]["variants"][number]["model"]>;

/** One system: how an application becomes a decision problem, and a load level a policy. Solvers do no I/O and read no clock. */
export interface Solver {
  /** What the application asks for that the method cannot do. */
  mistakes(application: Application): Iterable<Mistake>;
  /** @param application one without mistakes. */
  frame(application: Application, models: ModelFiles): BundleFrame;
  /** Computes the policy for one load. The same frame and load give the same level, bit for bit. */
  solveLevel(frame: BundleFrame, loadQps: number): Level;
  /** Recomputes what a level's policy promises, from its tables alone. */
  expectedOf(frame: BundleFrame, level: Level): Expected;
  /** Recomputes what the actions of one state are worth where a level's policy decides ever after, from its tables alone. */
  actionValues(
    frame: BundleFrame,
    level: Level,
    queued: number,
    slackMs: number,
  ): ActionValues | NoActionValues;
}
