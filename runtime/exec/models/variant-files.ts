/** Files that a worker reads for a variant: one, or those of a chain. */
import type { OpenedModel } from "../files/whole-model.ts";
import type { VariantFile, VariantModel } from "./executor.ts";

/** Returns the files in the order in which they run. */
export function filesOf(variant: VariantModel): readonly VariantFile[] {
  const { path, opened, parts = [] } = variant;
  return [opened === undefined ? { path } : { path, opened }, ...parts];
}

/** Returns those that are open. */
export function openedOf(variant: VariantModel): readonly OpenedModel[] {
  return filesOf(variant).flatMap(({ opened }) => opened ?? []);
}

/** Returns the total size in bytes. @param bytesAt size of a file that is not open. */
export function fileBytesOf(variant: VariantModel, bytesAt: (path: string) => number): number {
  return filesOf(variant).reduce(
    (sum, { path, opened }) => sum + (opened?.bytes ?? bytesAt(path)),
    0,
  );
}
