/** Names and placeholder accuracies of variants. */
import { basename } from "node:path";

/** Range of placeholder accuracies: larger models get higher ones. */
const GUESSED_LEAST = 0.8;
const GUESSED_MOST = 0.9;

/** Returns names from file names, without invalid characters; duplicates are numbered. */
export function modelNames(paths: readonly string[]): string[] {
  const names: string[] = [];
  for (const path of paths) {
    const name =
      basename(path)
        .replace(/\.(onnx|ort|[cm]?[jt]s)$/i, "")
        .replaceAll(/[^\w.-]+/g, "-") || "model";
    let own = name;
    for (let number = 2; names.includes(own); number++) own = `${name}-${number}`;
    names.push(own);
  }
  return names;
}

export function guessedAccuracies(models: readonly { readonly bytes: number }[]): number[] {
  const bySize = models
    .map((_, index) => index)
    .sort((a, b) => {
      return (models[a]?.bytes ?? 0) - (models[b]?.bytes ?? 0) || a - b;
    });
  const step = (GUESSED_MOST - GUESSED_LEAST) / Math.max(1, models.length - 1);
  return models.map(
    (_, index) => GUESSED_MOST - step * (models.length - 1 - bySize.indexOf(index)),
  );
}
