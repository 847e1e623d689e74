/** Types of measure.js for the tests; the comments are there. */
type Verdicts = { isGateRight: boolean; isAccurateRight: boolean };
type Accuracies = { accuracyOfKept: number; accuracyOfEscalated: number; accuracyAlone: number };
export type Figures = {
  escalatedShare: number;
  gate: Accuracies;
  accurate: Accuracies;
  accuracy: number;
};
export const CALIBRATION_SEED: number;
export const CALIBRATION_COUNT: number;
export const LOSS: number;
export function answersOf(
  model: Uint8Array,
  pixels: Uint8Array,
): Promise<{ logits: number[]; escalate?: number[] }>;
export function classesOf(logits: readonly number[]): number[];
export function confidencesOf(logits: readonly number[]): number[];
export function chooseThreshold(images: readonly (Verdicts & { confidence: number })[]): number;
export function figuresOf(images: readonly (Verdicts & { isEscalated: boolean })[]): Figures;
