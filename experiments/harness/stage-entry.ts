/** What a recorded server tells of its stages, with the time of the event. */
export interface StageEntry {
  readonly kind: "assign" | "release" | "resize" | "resized" | "model-ready" | "lost";
  readonly nowMs: number;
  readonly worker: number;
  readonly variant?: number;
  readonly cores?: number;
}
