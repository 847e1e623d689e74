/** Processors and throttling, read from files like those of Linux's control groups. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  parallelism,
  processorsOf,
  quotaText,
  throttledShare,
  throttlingOf,
} from "../../../runtime/base/control-groups.ts";
import { sharedCores } from "../../../runtime/exec/limits/means.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** @param files by their paths. @returns the root of them. */
function rootOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "groups-"));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const V2 = {
  "proc/self/cgroup": "0::/pod/box\n",
  "proc/self/status": "Name:\tnode\nCpus_allowed_list:\t1-2,5\n",
  "sys/fs/cgroup/cpu.max": "max 100000\n",
  "sys/fs/cgroup/pod/cpu.max": "150000 100000\n",
  "sys/fs/cgroup/pod/cpu.stat":
    "usage_usec 9\nnr_periods 40\nnr_throttled 10\nthrottled_usec 7000\n",
  "sys/fs/cgroup/pod/box/cpu.max": "400000 100000\n",
  "sys/fs/cgroup/pod/box/cpu.stat": "nr_periods 40\nnr_throttled 0\nthrottled_usec 0\n",
};
/** A container of version 1 sees the group of the host by a path that it does not have. */
const V1 = {
  "proc/self/cgroup": "4:memory:/gone\n2:cpu,cpuacct:/docker/gone\n",
  "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
  "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
  "sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 8\nnr_throttled 6\nthrottled_time 3000000\n",
};

test("the least quota of a group and those above it counts, with the allowed processors", () => {
  const found = processorsOf(rootOf(V2), 3);
  expect(found).toEqual({ count: 3, numbers: new Set([1, 2, 5]), quota: 1.5, quotaOf: "cpu.max" });
  expect(quotaText(found)).toBe("1.5 processors by quota (cpu.max)");
  expect(parallelism(rootOf(V2), 3)).toBe(1);
});

test("version 1 has its quota and its times in other files", () => {
  const root = rootOf(V1);
  const found = processorsOf(root, 2);
  expect(found).toMatchObject({ quota: 0.5, numbers: null });
  expect(quotaText(found)).toBe("0.5 processors by quota (cpu.cfs_quota_us)");
  expect(parallelism(root, 2)).toBe(1);
  expect(throttlingOf(root)).toEqual({ periods: 8, throttled: 6, throttledMs: 3 });
});

test.each([
  ["no quota of version 2", { ...V2, "sys/fs/cgroup/pod/cpu.max": "max 100000\n" }],
  ["no quota of version 1", { ...V1, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n" }],
  ["no control groups", {}],
])("%s leaves the processors as they are", (_, files) => {
  const root = rootOf(files);
  expect(quotaText(processorsOf(root, 3))).toBeNull();
  expect(parallelism(root, 3)).toBe(3);
});

test("throttling is that of the group that lost most, as a share of the periods", () => {
  const before = throttlingOf(rootOf(V2));
  expect(before).toEqual({ periods: 40, throttled: 10, throttledMs: 7 });
  expect(throttledShare(before, { periods: 50, throttled: 15, throttledMs: 9 })).toBe(0.5);
  expect(throttledShare(before, before)).toBe(0);
  expect(throttledShare(null, null)).toBeNull();
  expect(throttlingOf(rootOf({}))).toBeNull();
});

test("workers beyond the quota share it, and a notice names it", () => {
  const processors = processorsOf(rootOf(V2), 8);
  expect(sharedCores({ count: 2, threads: 1 }, { processors })).toContain(
    "2 workers of 1 thread share 1.5 processors by quota (cpu.max): the promises",
  );
  expect(sharedCores({ count: 1, threads: 1 }, { processors })).toBeNull();
});
