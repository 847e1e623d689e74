/** Resource metrics of the server process, with the names that Prometheus client libraries use. */
import { readdirSync, readFileSync } from "node:fs";
import { type MetricLine, metric } from "../../base/exposition.ts";

/** Workers are processes of their own and not in it. */
export function processMetricLines(): MetricLine[] {
  const { user, system } = process.cpuUsage();
  const startedS = performance.timeOrigin / 1000;
  return [
    ...metric(
      "process_cpu_seconds_total",
      "counter",
      "User and system time of the server, without its workers",
      (user + system) / 1e6,
    ),
    ...metric(
      "process_resident_memory_bytes",
      "gauge",
      "Resident memory of the server, without its workers",
      process.memoryUsage.rss(),
    ),
    ...gaugeOf("process_virtual_memory_bytes", "Virtual memory of the server", virtualBytes()),
    ...gaugeOf("process_open_fds", "Open file descriptors of the server", openDescriptors()),
    ...gaugeOf("process_max_fds", "Maximum number of open file descriptors", maxDescriptors()),
    ...metric(
      "process_start_time_seconds",
      "gauge",
      "Start time of the server, seconds since 1970",
      startedS,
    ),
  ];
}

function gaugeOf(name: string, help: string, value: number | undefined): MetricLine[] {
  return value === undefined ? [] : metric(name, "gauge", help, value);
}

/** Undefined where the system does not tell. */
function openDescriptors(): number | undefined {
  // One of them belongs to the directory while it is read.
  return readable(() => readdirSync("/proc/self/fd").length - 1);
}

function maxDescriptors(): number | undefined {
  return readable(() => {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return match === null ? undefined : Number(match[1]);
  });
}

function virtualBytes(): number | undefined {
  return readable(() => {
    const match = /^VmSize:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "latin1"));
    return match === null ? undefined : Number(match[1]) * 1024;
  });
}

function readable(read: () => number | undefined): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
