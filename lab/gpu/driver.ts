/** Finds the device: the first Vulkan driver with which a model runs, hardware before software. */
import { execFile, execFileSync, type StdioOptions } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export interface Driver {
  /** The device, such as NVIDIA H100 80GB HBM3. */
  readonly name: string;
  /** The file that names the driver's library to Vulkan's loader. */
  readonly icd: string;
  readonly isSoftware: boolean;
  /** What a process needs to find it. */
  readonly environment: Readonly<Record<string, string>>;
}

const ICD_FOLDERS = [
  "/usr/share/vulkan/icd.d",
  "/etc/vulkan/icd.d",
  "/usr/local/share/vulkan/icd.d",
  "/usr/local/nvidia/share/vulkan/icd.d",
];
/** Where browsers bring SwiftShader, which runs Vulkan on the processor. */
const SWIFTSHADER = [
  "/usr/lib/chromium/vk_swiftshader_icd.json",
  "/usr/lib/chromium-browser/vk_swiftshader_icd.json",
  "/opt/google/chrome/vk_swiftshader_icd.json",
];
/** Drivers that are a processor, and those of Mesa that lead to another machine. */
const IS_SOFTWARE = /swiftshader|lvp|lavapipe/;
const IS_REMOTE = /gfxstream|virtio/;
/** Where images for containers have NVIDIA's libraries, which the loader may not know of. */
const NVIDIA_FOLDERS = ["/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"];

const PROBE = fileURLToPath(new URL("./driver-probe.js", import.meta.url));
const PROBE_MS = 60_000;

/**
 * @param work for what is made on the way. @param tried told of each driver that does not do, why.
 * @returns null where none does.
 */
export async function findDriver(
  work: string,
  tried: (icd: string, reason: string) => void,
): Promise<Driver | null> {
  const libraries = libraryPath(work);
  const named = process.env["VK_DRIVER_FILES"] ?? process.env["VK_ICD_FILENAMES"];
  for (const icd of named === undefined ? icdFiles(work) : named.split(":")) {
    const environment = {
      VK_DRIVER_FILES: icd,
      VK_ICD_FILENAMES: icd,
      XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"] ?? "/tmp",
      ...(libraries === "" ? {} : { LD_LIBRARY_PATH: libraries }),
    };
    const reason = await whyNot(environment);
    if (reason === null) return { ...deviceOf(icd), icd, environment };
    tried(icd, reason);
  }
  return null;
}

function icdFiles(work: string): string[] {
  const found = ICD_FOLDERS.filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((file) => path.join(folder, file)))
    .filter((file) => file.endsWith(".json") && !IS_REMOTE.test(file));
  const hardware = found.filter((file) => !IS_SOFTWARE.test(file));
  const software = [...SWIFTSHADER.filter(existsSync), ...found].filter((file) =>
    IS_SOFTWARE.test(file),
  );
  const isNvidia = (file: string) => path.basename(file).includes("nvidia");
  const others = hardware.filter((file) => !isNvidia(file));
  return [...nvidiaFiles(hardware.find(isNvidia), work), ...others, ...software];
}

/**
 * NVIDIA's driver as its file names it, and by its library for machines without a display, which
 * wants no X11. Images for containers may have the libraries and no file.
 */
function nvidiaFiles(icd: string | undefined, work: string): string[] {
  if (icd === undefined && nvidiaSmi("name").length === 0) return [];
  const written = ["libGLX_nvidia.so.0", "libEGL_nvidia.so.0"].map((library) => {
    const file = path.join(work, `${library.slice(3, 6).toLowerCase()}_nvidia_icd.json`);
    const ICD = { library_path: library, api_version: "1.3.0" };
    writeFileSync(file, JSON.stringify({ file_format_version: "1.0.0", ICD }));
    return file;
  });
  return icd === undefined ? written : [icd, ...written.slice(1)];
}

/** Those libraries of the pack that this machine lacks, NVIDIA's, and what is asked for already. */
function libraryPath(work: string): string {
  const folders = [process.env["LD_LIBRARY_PATH"], ...NVIDIA_FOLDERS.filter(existsSync)];
  const packed = path.resolve("lib");
  if (existsSync(packed)) {
    const missing = path.join(work, "lib");
    mkdirSync(missing, { recursive: true });
    const known = knownLibraries();
    for (const name of readdirSync(packed).filter((each) => !known.includes(`\t${each} `))) {
      symlinkSync(path.join(packed, name), path.join(missing, name));
    }
    folders.push(missing);
  }
  return folders.filter((folder) => folder !== undefined && folder !== "").join(":");
}

function knownLibraries(): string {
  try {
    return execFileSync("/sbin/ldconfig", ["-p"], { encoding: "utf8" });
  } catch {
    return "";
  }
}

/** Null where a model runs, else why it does not. */
async function whyNot(environment: Driver["environment"]): Promise<string | null> {
  const env = { ...process.env, ...environment };
  try {
    await promisify(execFile)(process.execPath, [PROBE], { env, timeout: PROBE_MS });
    return null;
  } catch (error) {
    const { stderr = "", signal } = error as { stderr?: string; signal?: string | null };
    const lines = stderr.trim().split("\n");
    return `${lines.at(-1) ?? ""}${signal == null ? "" : ` (ended by ${signal})`}`.slice(0, 300);
  }
}

function deviceOf(icd: string): Pick<Driver, "name" | "isSoftware"> {
  const file = path.basename(icd);
  return { name: file.replace(/_icd.*$/, ""), isSoftware: IS_SOFTWARE.test(file) };
}

/** Fields of the first device as nvidia-smi tells them; none without it. */
export function nvidiaSmi(fields: string): string[] {
  try {
    const query = [`--query-gpu=${fields}`, "--format=csv,noheader,nounits"];
    const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/bin:/usr/local/nvidia/bin` };
    const stdio: StdioOptions = ["ignore", "pipe", "ignore"];
    const text = execFileSync("nvidia-smi", query, { encoding: "utf8", env, stdio });
    return (text.split("\n")[0] ?? "").split(",").map((field) => field.trim());
  } catch {
    return [];
  }
}
