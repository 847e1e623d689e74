/** Bundles without their levels: the input of solvers. */
import type {
  AccordionBundle,
  Bundle,
  InferlineBundle,
  LokiBundle,
  RamsisBundle,
  ThemisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import type { Trace } from "../spec/trace.ts";

/**
 * A bundle without its levels: what the levels share, and all a solver needs to compute one. Plain
 * data, so it can cross processes.
 */
export type FrameOf<B extends Bundle> = Omit<B, "levels" | "paceLevels" | "provenance">;

export type RamsisFrame = FrameOf<RamsisBundle>;
export type LokiFrame = FrameOf<LokiBundle>;
/**
 * Includes the trace that samples are cut from, if arrivals are recorded and the application is at
 * hand.
 */
export type InferlineFrame = FrameOf<InferlineBundle> & { readonly recorded: Trace | null };
/** Omits the transitions, which are between levels. */
export type ThemisFrame = Omit<FrameOf<ThemisBundle>, "transitions">;
export type AccordionFrame = FrameOf<AccordionBundle>;

/** Methods whose frames differ from the bundle without its levels. */
interface OwnFrames {
  readonly inferline: InferlineFrame;
  readonly themis: ThemisFrame;
}

export type BundleFrame = {
  readonly [B in Bundle as B["method"]]: B["method"] extends keyof OwnFrames
    ? OwnFrames[B["method"]]
    : FrameOf<B>;
}[Bundle["method"]];
