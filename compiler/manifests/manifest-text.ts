/** Manifests as YAML. */
import { stringify } from "yaml";
import type { ManifestFile } from "./manifest-options.ts";

/** The documents of a file, with a line that says what they are for and one between them. */
export function manifestText({ about, objects }: ManifestFile): string {
  // Aliases would be legal, and hardly read.
  const options = { aliasDuplicateObjects: false, lineWidth: 0 };
  const documents = objects.map((object) => stringify(object, options));
  return `# ${about}\n${documents.join("---\n")}`;
}
