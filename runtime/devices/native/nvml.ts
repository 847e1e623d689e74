/**
 * Asks NVML, the library of NVIDIA's driver that nvidia-smi is made of, about GPUs and MIG
 * instances. Only for processes that may die of it.
 *
 * Structures are laid out as in nvml.h for 64 bits. Not verified on hardware: a library that
 * answers as NVML's documentation says is what it was tried on.
 */
import koffi, { type KoffiFunc, type LibraryHandle } from "koffi";
import { nameOf } from "../names.ts";
import { type Block, block, numberAt, textAt } from "./memory.ts";

type NativeFunction = KoffiFunc<(...values: readonly unknown[]) => number>;

/** A GPU or a MIG instance, by the library's own pointer. */
export type NvmlDevice = bigint;

export interface MemoryUse {
  readonly totalBytes: number;
  readonly usedBytes: number;
}

const SUCCESS = 0;
const INSUFFICIENT_SIZE = 7;
const TEXT_BYTES = 96;
/** Bytes of nvmlProcessInfo_t in version 2 and 3 of the calls. */
const PROCESS_BYTES = 24;
const MOST_PROCESSES = 1024;
/** What is told of memory that the driver does not know. */
const NOT_AVAILABLE = 2n ** 64n - 1n;

export class Nvml {
  readonly #library: LibraryHandle;
  /** By prototype: whoever asks every second must not define them anew. */
  readonly #functions = new Map<string, NativeFunction | undefined>();
  /** By length: what is told is read before the next call. */
  readonly #scratch = new Map<number, Block>();

  private constructor(library: LibraryHandle) {
    this.#library = library;
  }

  /** @throws Error where there is no such library, no driver, or it does not start. */
  static open(): Nvml {
    const library = koffi.load(process.platform === "win32" ? "nvml.dll" : "libnvidia-ml.so.1");
    const result: number = library.func("int nvmlInit_v2()")();
    if (result !== SUCCESS) throw new Error(`nvmlInit: error ${result}`);
    return new Nvml(library);
  }

  driverVersion(): string | null {
    const text = this.#told(TEXT_BYTES);
    const ask = this.#function("int nvmlSystemGetDriverVersion(void *, uint32_t)");
    const isTold = ask?.(text.pointer, TEXT_BYTES) === SUCCESS;
    return isTold ? nameOf(textAt(text, 0, TEXT_BYTES)) : null;
  }

  /** In the order of the PCI bus. */
  devices(): NvmlDevice[] {
    const count = this.#told(4);
    const ask = this.#function("int nvmlDeviceGetCount_v2(void *)");
    if (ask?.(count.pointer) !== SUCCESS) return [];
    return this.#handles("nvmlDeviceGetHandleByIndex_v2", count.bytes.getUint32(0, true));
  }

  /** MIG instances of a GPU, which is empty where it is not divided. */
  migDevices(device: NvmlDevice): NvmlDevice[] {
    const most = this.#number(device, "nvmlDeviceGetMaxMigDeviceCount");
    if (most === null || most === 0) return [];
    return this.#handles("nvmlDeviceGetMigDeviceHandleByIndex", most, device);
  }

  name(device: NvmlDevice): string | null {
    const name = this.#text(device, "nvmlDeviceGetName");
    return name === null ? null : nameOf(name);
  }

  /** "GPU-…", of MIG instances "MIG-…". */
  uuid(device: NvmlDevice): string | null {
    return this.#text(device, "nvmlDeviceGetUUID");
  }

  memory(device: NvmlDevice): MemoryUse | null {
    const told = this.#asked(device, "nvmlDeviceGetMemoryInfo", 24);
    return told && { totalBytes: numberAt(told, 0), usedBytes: numberAt(told, 16) };
  }

  /** Percent of the last sample period in which a kernel ran; null for MIG instances. */
  utilizationPercent(device: NvmlDevice): number | null {
    return this.#number(device, "nvmlDeviceGetUtilizationRates", 8);
  }

  powerMilliwatts(device: NvmlDevice): number | null {
    return this.#number(device, "nvmlDeviceGetPowerUsage");
  }

  powerLimitMilliwatts(device: NvmlDevice): number | null {
    return this.#number(device, "nvmlDeviceGetPowerManagementLimit");
  }

  /** Since the driver was loaded. */
  energyMillijoules(device: NvmlDevice): number | null {
    const told = this.#asked(device, "nvmlDeviceGetTotalEnergyConsumption", 8);
    return told && numberAt(told, 0);
  }

  /** Bytes by process id, of those that compute (CUDA) and those that draw (Vulkan). */
  memoryByPid(device: NvmlDevice): Map<number, number> {
    const byPid = new Map<number, number>();
    for (const kind of ["Compute", "Graphics"]) {
      for (const [pid, bytes] of this.#processes(device, kind)) {
        byPid.set(pid, Math.max(bytes, byPid.get(pid) ?? 0));
      }
    }
    return byPid;
  }

  #processes(device: NvmlDevice, kind: string): [number, number][] {
    const count = this.#told(4);
    const told = this.#told(PROCESS_BYTES * MOST_PROCESSES);
    count.bytes.setUint32(0, MOST_PROCESSES, true);
    const name = `nvmlDeviceGet${kind}RunningProcesses`;
    const ask = this.#function(`int ${name}_v3(void *, void *, void *)`, `${name}_v2`);
    const result = ask?.(device, count.pointer, told.pointer);
    if (result !== SUCCESS && result !== INSUFFICIENT_SIZE) return [];
    const toldCount = Math.min(count.bytes.getUint32(0, true), MOST_PROCESSES);
    return Array.from({ length: toldCount }, (_, place) => PROCESS_BYTES * place)
      .filter((at) => told.bytes.getBigUint64(at + 8, true) !== NOT_AVAILABLE)
      .map((at) => [told.bytes.getUint32(at, true), numberAt(told, at + 8)]);
  }

  /** @param of whose handles by index; left out for those of the machine. */
  #handles(name: string, count: number, of?: NvmlDevice): NvmlDevice[] {
    const handle = this.#told(8);
    const handles: NvmlDevice[] = [];
    for (let index = 0; index < count; index++) {
      const result =
        of === undefined
          ? this.#function(`int ${name}(uint32_t, void *)`)?.(index, handle.pointer)
          : this.#function(`int ${name}(void *, uint32_t, void *)`)?.(of, index, handle.pointer);
      if (result === SUCCESS) handles.push(handle.bytes.getBigUint64(0, true));
    }
    return handles;
  }

  #text(device: NvmlDevice, name: string): string | null {
    const text = this.#told(TEXT_BYTES);
    const ask = this.#function(`int ${name}(void *, void *, uint32_t)`);
    if (ask?.(device, text.pointer, TEXT_BYTES) !== SUCCESS) return null;
    return textAt(text, 0, TEXT_BYTES);
  }

  /** The first 32 bits of what is told. */
  #number(device: NvmlDevice, name: string, length = 4): number | null {
    return this.#asked(device, name, length)?.bytes.getUint32(0, true) ?? null;
  }

  /** Null where the driver or the device does not tell. */
  #asked(device: NvmlDevice, name: string, length: number): Block | null {
    const told = this.#told(length);
    const ask = this.#function(`int ${name}(void *, void *)`);
    return ask?.(device, told.pointer) === SUCCESS ? told : null;
  }

  /** Memory for what is told next. */
  #told(length: number): Block {
    const known = this.#scratch.get(length) ?? block(length);
    this.#scratch.set(length, known);
    new Uint8Array(known.bytes.buffer).fill(0);
    return known;
  }

  /** Undefined where the library has it by neither name, as older ones have not. */
  #function(prototype: string, otherwise?: string): NativeFunction | undefined {
    if (!this.#functions.has(prototype)) {
      this.#functions.set(prototype, this.#defined(prototype, otherwise));
    }
    return this.#functions.get(prototype);
  }

  #defined(prototype: string, otherwise: string | undefined): NativeFunction | undefined {
    try {
      return this.#library.func(prototype);
    } catch {
      if (otherwise === undefined) return undefined;
      return this.#function(prototype.replace(/nvml\w+/, otherwise));
    }
  }
}
