/** Whether a bill of materials keeps the schema of CycloneDX 1.6, which the library brings. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";

/** Its schema is compiled once, which takes longer than to check a bill. */
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

/** What the schema forbids, each in a sentence. */
export async function sbomFaults(file: string): Promise<string[]> {
  const text = readFileSync(file, "utf8");
  const { specVersion } = JSON.parse(text) as { readonly specVersion?: string };
  if (specVersion !== "1.6") {
    return [`${basename(file)}: expected CycloneDX 1.6, found ${specVersion}`];
  }
  const errors = await validator.validate(text);
  return errors === null ? [] : [`${basename(file)}: ${JSON.stringify(errors)}`];
}
