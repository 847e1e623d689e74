/** Examines the machine for what a failed device may lack. */
import { execFile } from "node:child_process";
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
  VULKAN_LOADER,
} from "./missing.ts";

/**
 * Loads each library in a process of its own, which may crash, and prints the error per library or
 * null. Node rejects a loaded library because it is not a module of Node.
 */
const LOAD_ALL = `
const { RTLD_LAZY, RTLD_GLOBAL } = require("node:os").constants.dlopen;
const errors = process.argv.slice(1).map((path) => {
  try {
    process.dlopen({ exports: {} }, path, RTLD_LAZY | RTLD_GLOBAL);
  } catch ({ message }) {
    return message.startsWith("Module did not self-register") ? null : message;
  }
  return null;
});
console.log(JSON.stringify(errors));`;
/** A suspended driver takes seconds to wake up. */
const TIMEOUT_MS = 20_000;

/**
 * Tries to load the libraries of the provider and its driver one by one.
 * @param reason message of onnxruntime.
 * @param engine returns the path of the package onnxruntime-node.
 * @returns what is missing and how to repair it, in one line; null if unknown.
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
  const names = [...own, ...(provider === "webgpu" ? [VULKAN_LOADER] : []), CUDA_DRIVER];
  const paths = names.map((name) => (own.includes(name) ? join(folder, name) : name));
  const errors = await loadErrors(paths);
  const libraries = Object.fromEntries(
    names.map((name, place) => [
      name,
      errors === null ? absence(paths[place]) : (errors[place] ?? null),
    ]),
  );
  const facts: DeviceFacts = { platform, arch, drivers: driverFiles(env), libraries };
  return missingPart(provider, reason, facts);
}

/** Load error of each library, null if it can be loaded; null for all if the process crashed. */
function loadErrors(paths: readonly string[]): Promise<(string | null)[] | null> {
  const options = { cwd: "/", timeout: TIMEOUT_MS, killSignal: "SIGKILL" } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, ["-e", LOAD_ALL, ...paths], options, (error, stdout) => {
      resolve(error === null ? JSON.parse(stdout) : null);
    });
  });
}

/** Fallback without a process: only checks whether the file exists. */
function absence(path = ""): string | null {
  return path.includes("/") && !existsSync(path) ? "No such file" : null;
}

/**
 * Folders of the Vulkan loader on Linux (its LoaderDriverInterface.md), except those in the home.
 */
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
