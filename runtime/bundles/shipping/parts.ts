/** The files that a bundle names by digest: what has to come along to serve it elsewhere. */
import { BundleError } from "../../base/bundle-error.ts";
import { fileName } from "../../bundle/fields.ts";
import { clip } from "../../bundle/refuse.ts";
import type { Bundle, ModelFile } from "../../bundle/schema.ts";
import { methodOf } from "../../methods/registry.ts";

/** A file of the models folder. */
export interface ShippedPart {
  /** Its name, without directories. */
  readonly file: string;
  /** 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  /** An ONNX file, one that runs after another in the same worker, or the entry of an ES module. */
  readonly kind: "model" | "part" | "module";
}

/**
 * Returns every file of the models folder that serving a bundle reads, each once, in the bundle's
 * order. A remote model has no file, and a module of a package comes with the package. For
 * pipelines of layers the stages are served, not the model they were cut from.
 * @throws BundleError BUNDLE_SCHEMA for a name with directories, BUNDLE_SEMANTICS for a name with
 * two contents.
 * @throws RuntimeError RUNTIME_MODEL if the bundle was compiled without models.
 */
export function partsOf(bundle: Bundle): readonly ShippedPart[] {
  const byFile = new Map<string, ShippedPart>();
  for (const { name, model } of methodOf(bundle).models(bundle)) {
    if (model === null) continue;
    for (const part of partsOfModel(model)) {
      // Bundles that were read have been checked; a bundle made in memory has not.
      fileName.read(part.file, `file of variant "${name}"`);
      const known = byFile.get(part.file);
      if (known === undefined) byFile.set(part.file, part);
      else if (known.sha256 !== part.sha256) refuseTwoContents(name, known, part);
    }
  }
  return [...byFile.values()];
}

function partsOfModel({ file, sha256, module, remote, parts = [] }: ModelFile): ShippedPart[] {
  if (remote !== undefined || (module !== undefined && module.specifier !== null)) return [];
  const first: ShippedPart = { file, sha256, kind: module === undefined ? "model" : "module" };
  const others = parts.map((part): ShippedPart => {
    return { file: part.file, sha256: part.sha256, kind: "part" };
  });
  return [first, ...others];
}

function refuseTwoContents(variant: string, known: ShippedPart, other: ShippedPart): never {
  const found = `SHA-256 ${known.sha256} and ${other.sha256}`;
  const message = `expected one content of the file ${clip(known.file)}, got ${found}`;
  const remedy = "give one of the models another name and compile again";
  throw new BundleError("BUNDLE_SEMANTICS", `variant "${variant}": ${message}; ${remedy}`);
}
