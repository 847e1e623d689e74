/** Looks on the machine for what a device that failed may lack. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  type Accelerator,
  CUDA_DRIVER,
  type DeviceFacts,
  type DriverFiles,
  isOfDevice,
  missingPart,
  PROVIDER_LIBRARIES,
} from "./missing.ts";
import { ask } from "./questions.ts";

/**
 * Asks the drivers again, one by one, in processes with the environment of this one.
 * @param reason what onnxruntime said.
 * @param engine path of the package onnxruntime-node.
 * @returns what is missing and how to mend it, in one line; null where that is not known.
 */
export async function whatIsMissing(
  { provider }: { readonly provider: Accelerator | "cpu" },
  reason: string,
  engine: () => string,
): Promise<string | null> {
  if (provider === "cpu" || !isOfDevice(provider, reason)) return null;
  const { platform, arch, env } = process;
  const folder = join(dirname(engine()), "bin/napi-v6", platform, arch);
  const own = provider === "webgpu" ? [] : PROVIDER_LIBRARIES[provider];
  const names = [...own, CUDA_DRIVER];
  const paths = names.map((name) => (own.includes(name) ? join(folder, name) : name));
  const [vulkan, errors] = await Promise.all([
    provider === "webgpu" ? ask({ ask: "vulkan" }, env) : null,
    ask({ ask: "libraries", paths }, env),
  ]);
  const libraries = Object.fromEntries(
    names.map((name, place) => [
      name,
      errors === null ? absence(paths[place]) : (errors[place] ?? null),
    ]),
  );
  const facts: DeviceFacts = { platform, arch, vulkan, drivers: driverFiles(env), libraries };
  return missingPart(provider, reason, facts);
}

/** As far as files tell, where nobody could load them. */
function absence(path = ""): string | null {
  return path.includes("/") && !existsSync(path) ? "No such file" : null;
}

/** Where the Vulkan loader looks on Linux (its LoaderDriverInterface.md), beside the home. */
function driverFiles(env: NodeJS.ProcessEnv): DriverFiles {
  const variable = env["VK_DRIVER_FILES"] ? "VK_DRIVER_FILES" : "VK_ICD_FILENAMES";
  const listed = env[variable] || null;
  const named = listed?.split(":").filter((path) => path !== "") ?? null;
  const shared = env["XDG_DATA_DIRS"] || "/usr/local/share:/usr/share";
  const folders = ["/etc", ...shared.split(":")].map((path) => join(path, "vulkan/icd.d"));
  const found = folders.flatMap((folder) => {
    return filesIn(folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(folder, name));
  });
  const absent = named?.filter((path) => !existsSync(path)) ?? [];
  return { variable, named, absent, folders, found };
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
