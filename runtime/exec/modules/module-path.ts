/** Finds the entry of an ES module that a package has. */
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * Path of the file that a specifier such as `stratagem-kit/decode-image` names: as seen from the
 * folder of the models, else from where this package is installed.
 * @throws Error naming both places.
 */
export function packageEntry(specifier: string, folder: string): string {
  const places = [join(folder, "models"), import.meta.filename];
  let reason = "";
  for (const place of places) {
    try {
      return createRequire(place).resolve(specifier);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      // What is there without such an entry is told rather than what is not there at all.
      if (code !== "MODULE_NOT_FOUND") reason ||= message.split("\n")[0] ?? "";
    }
  }
  if (reason !== "") throw new Error(reason);
  throw new Error(
    `no package has ${JSON.stringify(specifier)} as seen from ${folder}, nor beside this one: ` +
      `npm install ${packageNameOf(specifier)}; a file is named by a path such as ./${specifier}`,
  );
}

function packageNameOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
