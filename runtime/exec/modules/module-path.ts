/** Finds the entry of an ES module in a package. */
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * Resolves a specifier such as `stratagem-kit/decode-image` from the folder of the models, else
 * from where this package is installed.
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
      // A package that lacks the entry is a better message than a package that is missing.
      if (code !== "MODULE_NOT_FOUND") reason ||= message.split("\n")[0] ?? "";
    }
  }
  if (reason !== "") throw new Error(reason);
  throw new Error(
    `cannot resolve ${JSON.stringify(specifier)} from ${folder} or from stratagem-runtime: ` +
      `npm install ${packageNameOf(specifier)}; write a file as a path such as ./${specifier}`,
  );
}

function packageNameOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
