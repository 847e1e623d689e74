/** What a section of the check is told: the device, how thorough to be, and where things lie. */
export interface Settings {
  /** What runs the models, as `--device` of the product's commands names it. */
  readonly device: "webgpu" | "cpu";
  /** Whether a processor plays the device: its figures say nothing about hardware. */
  readonly isSoftware: boolean;
  /** Few models, small batches, few runs. */
  readonly isQuick: boolean;
  /** What profiles call the device, such as nvidia-h100. */
  readonly hardware: string;
  /** For specs and bundles; sections share it. */
  readonly work: string;
  /** For what is kept: profiles. */
  readonly out: string;
}

/** Seed of all random inputs and arrivals. */
export const SEED = 1;
