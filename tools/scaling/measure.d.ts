/** Types of measure.js for the tests; the comments are there. */
import type { InferenceSession } from "onnxruntime-node";
import type { SceneObject } from "../scenes/dataset.js";
import type { Box } from "../scenes/measure.js";

export type Finding = { found: boolean; letter: Uint8Array; place: Box };
export type Figures = { foundShare: number; shownShare: number; accuracy: number };
export function find(session: InferenceSession, pixels: Uint8Array): Promise<Finding[]>;
export function figuresOf(
  finder: InferenceSession,
  namer: InferenceSession,
  scenes: { pixels: Uint8Array; objectsByScene: SceneObject[][] },
): Promise<Figures>;
