/**
 * Memory of a process on accelerators of any maker as Linux reports it in /proc/PID/fdinfo
 * (Documentation/gpu/drm-usage-stats.rst of the kernel).
 */

/** Device memory in the drivers of AMD, and in Intel's older and newer ones. */
const OWN = /^(vram|local)/;
const REGION = /^drm-(memory|resident)-([^\s:]+):\s*(\d+)(?: ([A-Za-z]+))?$/;
const UNITS: Readonly<Record<string, number>> = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20 };

/**
 * @param files one text for each descriptor of the process.
 * @returns bytes of device memory, or of shared memory on devices without memory of their own; null
 * if no descriptor reports memory of an accelerator.
 */
export function drmMemoryBytes(files: readonly string[]): number | null {
  const byClient = new Map<string, Map<string, number>>();
  for (const text of files) {
    const client = /^drm-client-id:\s*(\S+)/m.exec(text)?.[1];
    if (client === undefined) continue;
    const device = /^drm-pdev:\s*(\S+)/m.exec(text)?.[1] ?? "";
    // Duplicated descriptors report the same memory again.
    byClient.set(`${device} ${client}`, bytesByRegion(text));
  }
  const regions = [...byClient.values()].flatMap((one) => [...one]);
  if (regions.length === 0) return null;
  const own = regions.filter(([region]) => OWN.test(region));
  const isShared = own.every(([, bytes]) => bytes === 0);
  return (isShared ? regions : own).reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** Older drivers say "memory" for "resident". */
function bytesByRegion(text: string): Map<string, number> {
  const byRegion = new Map<string, number>();
  for (const kind of ["memory", "resident"]) {
    for (const line of text.split("\n")) {
      const [, of, region = "", count, unit = ""] = REGION.exec(line) ?? [];
      if (of !== kind) continue;
      byRegion.set(region, Number(count) * (UNITS[unit] ?? 1));
    }
  }
  return byRegion;
}
