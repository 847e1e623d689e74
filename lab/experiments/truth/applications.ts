/** The seven applications on trial, and what is sent to each. */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  drawImages,
  HELD_OUT_COUNT as IMAGE_COUNT,
  HELD_OUT_SEED as IMAGE_SEED,
} from "../../models/image-classification/dataset.ts";
import {
  drawScenes,
  HELD_OUT_COUNT as SCENE_COUNT,
  HELD_OUT_SEED as SCENE_SEED,
} from "../../models/scenes/dataset.ts";

export interface TrialApplication {
  readonly name: string;
  /** Seconds that each load is sent; more where requests are few. */
  readonly seconds: number;
  /** Writes what is sent. @returns the options of `truth` that name it. */
  readonly inputs: (folder: string) => readonly string[];
}

const PAGES = join("models", "ocr", "pages");

export const APPLICATIONS: readonly TrialApplication[] = [
  { name: "letters", seconds: 10, inputs: labelledImages },
  { name: "scenes", seconds: 10, inputs: scenes },
  { name: "cascade", seconds: 10, inputs: images },
  { name: "scaling", seconds: 10, inputs: scenes },
  // What its queries hold changes nothing of what they take.
  { name: "malleable", seconds: 12, inputs: () => [] },
  { name: "ocr", seconds: 40, inputs: pages },
  // Nor do its windows of sound.
  { name: "voice", seconds: 10, inputs: () => [] },
];

/** Images that nobody has learnt from: those on which the stated accuracies were measured. */
function images(folder: string): string[] {
  const rows = join(folder, "images.bin");
  writeFileSync(rows, drawImages(IMAGE_SEED, IMAGE_COUNT).pixels);
  return ["--inputs", rows];
}

function labelledImages(folder: string): string[] {
  const { labels } = drawImages(IMAGE_SEED, IMAGE_COUNT);
  const classes = join(folder, "labels.txt");
  writeFileSync(classes, `${labels.join("\n")}\n`);
  return [...images(folder), "--labels", classes];
}

function scenes(folder: string): string[] {
  const rows = join(folder, "scenes.bin");
  writeFileSync(rows, drawScenes(SCENE_SEED, SCENE_COUNT).pixels);
  return ["--inputs", rows];
}

/** Without their texts, which lie beside them. */
function pages(folder: string): string[] {
  const pictures = join(folder, "pages");
  mkdirSync(pictures, { recursive: true });
  for (const file of readdirSync(PAGES).filter((one) => /\.(png|jpg)$/u.test(one))) {
    copyFileSync(join(PAGES, file), join(pictures, file));
  }
  return ["--inputs", pictures];
}
