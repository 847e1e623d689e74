import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { methodOf } from "../../../compiler/methods/registry.ts";
import { InputError } from "../../../compiler/spec/document/input-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { hostileSpec, samples } from "../../../lab/campaign/hostile-specs.ts";

/** Cases of the campaign that are read here; the rest by `npm run campaign -- specs`. */
const CASES = 200;

test("hostile specs are read up to the frame, or refused with the file's name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-hostile-"));
  const from = samples();
  for (let number = 0; number < CASES; number++) {
    const spec = hostileSpec(number, 7, from);
    const path = join(folder, "app.yaml");
    writeFileSync(path, spec.app);
    for (const [name, text] of Object.entries(spec.beside)) writeFileSync(join(folder, name), text);
    try {
      const { application, refuse } = loadApplication(path);
      const method = await methodOf(application.policy);
      refuse(method.mistakes(application));
      method.frame(application, new Map());
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      expect(error.message, spec.name).toMatch(/app\.yaml|profile\.json/);
    }
  }
});
