/** Resources that workers need and that a machine has left, read from files like those of Linux. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { lackOf, type Means, meansOf, sharedCores } from "../../../../runtime/exec/limits/means.ts";
import { aFewAtATime } from "../../../../runtime/exec/pool/worker-pool.ts";

const MIB = 2 ** 20;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** @param files by their paths. */
function machine(files: Readonly<Record<string, string>>): Means {
  const root = mkdtempSync(join(tmpdir(), "means-"));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return meansOf({ root, freeBytes: 512 * MIB, cores: 2 });
}

const LIMITS = [
  "Limit                     Soft Limit           Hard Limit           Units     ",
  "Max processes             500                  96365                processes ",
  "Max open files            100                  20000                files     ",
].join("\n");

const PLENTY: Means = {
  memory: { left: 64 * 1024 * MIB, of: "free memory" },
  threads: { left: 32_768, of: "kernel.pid_max" },
  files: { left: 20_000, of: "RLIMIT_NOFILE", most: 20_000 },
  processors: { count: 8, numbers: null, quota: Number.POSITIVE_INFINITY, quotaOf: "" },
};

/** A limit of which 20 descriptors are open while 100 are left. */
const FEW = { of: "RLIMIT_NOFILE", most: 120 };
const ONE = { count: 1, threads: 1, modelBytes: 0, files: 0 };

describe("the means of a machine", () => {
  test("without such files are its free memory and its cores", () => {
    expect(machine({})).toEqual({
      memory: { left: 512 * MIB, of: "free memory" },
      threads: { left: Number.POSITIVE_INFINITY, of: "RLIMIT_NPROC" },
      files: {
        left: Number.POSITIVE_INFINITY,
        of: "RLIMIT_NOFILE",
        most: Number.POSITIVE_INFINITY,
      },
      processors: { count: 2, numbers: null, quota: Number.POSITIVE_INFINITY, quotaOf: "" },
    });
  });

  test("are the least of its limits", () => {
    const found = machine({
      "proc/meminfo": "MemFree: 1 kB\nMemAvailable:     2048 kB\n",
      "proc/self/limits": LIMITS,
      "proc/sys/kernel/pid_max": "32768\n",
    });
    expect(found.memory).toEqual({ left: 2 * MIB, of: "free memory" });
    expect(found.threads).toEqual({ left: 500, of: "RLIMIT_NPROC" });
    expect(found.files).toMatchObject({ left: 100, most: 100 });
  });

  test("are those of a control group and of the groups above it, of version 2", () => {
    const found = machine({
      "proc/self/cgroup": "0::/pod/box\n",
      "sys/fs/cgroup/pod/pids.max": "40\n",
      "sys/fs/cgroup/pod/pids.current": "15\n",
      "sys/fs/cgroup/pod/box/pids.max": "max\n",
      "sys/fs/cgroup/pod/box/memory.max": `${100 * MIB}\n`,
      "sys/fs/cgroup/pod/box/memory.current": `${80 * MIB}\n`,
      "sys/fs/cgroup/pod/box/memory.stat": `anon 1\ninactive_file ${30 * MIB}\n`,
    });
    expect(found.threads).toEqual({ left: 25, of: "pids.max" });
    expect(found.memory).toEqual({ left: 50 * MIB, of: "memory.max" });
  });

  test("are those of a control group of version 1, whose path may be another's", () => {
    const found = machine({
      "proc/self/cgroup": "8:pids:/\n4:memory:/gone/box\n",
      "sys/fs/cgroup/pids/pids.max": "7\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": `${90 * MIB}\n`,
      "sys/fs/cgroup/memory/memory.usage_in_bytes": `${60 * MIB}\n`,
    });
    expect(found.threads).toEqual({ left: 7, of: "pids.max" });
    expect(found.memory).toEqual({ left: 30 * MIB, of: "memory.limit_in_bytes" });
  });

  test("of this machine are some", () => {
    const { memory, threads, files, processors } = meansOf();
    for (const some of [memory.left, threads.left, files.left, processors.count]) {
      expect(some).toBeGreaterThan(0);
    }
  });
});

describe("workers", () => {
  test("that a machine has room for lack nothing", () => {
    expect(lackOf([{ ...ONE, count: 8, modelBytes: 10 * MIB }], PLENTY)).toBeNull();
  });

  test.each([
    [{ count: 1e6 }, {}, "1000000 workers need 12000000 threads, but this machine has 32768 left"],
    [{ count: 50, files: 14 }, { files: { ...FEW, left: 100 } }, "50 workers and models 114"],
    [{ modelBytes: 1024 * MIB, count: 100 }, {}, "100 workers need 108000 MiB of memory"],
    [{ threads: 64 }, { threads: { left: 50, of: "pids.max" } }, "75 threads"],
    [{}, { files: { ...FEW, left: -3 } }, "at least 125 open files (RLIMIT_NOFILE, ulimit -n)"],
    [{}, { threads: { left: -3, of: "pids.max" } }, "has 0 left (pids.max)"],
    [
      { serverBytes: 106 * MIB },
      { memory: { left: 150 * MIB, of: "memory.max" } },
      "1 worker and the server need 162 MiB of memory, but this machine has 150 left (memory.max)",
    ],
    [
      { count: 0, serverBytes: 1696 * 65_536 },
      { memory: { left: MIB, of: "memory.max" } },
      "the server needs 106 MiB of memory",
    ],
  ])("%o are refused beyond %o", (wanted, means, message) => {
    const found = lackOf([{ ...ONE, ...wanted }], {
      ...PLENTY,
      ...means,
    });
    expect(found).toContain(message);
  });

  test("of several bundles are counted together", () => {
    const each = { ...ONE, count: 30, modelBytes: 100 * MIB };
    const means = { ...PLENTY, files: { ...FEW, left: 100 } };
    expect(lackOf([each], means)).toBeNull();
    expect(lackOf([each, each], means)).toContain("60 workers and models 120");
  });

  test("share descriptors with other parts, which are named with the limit that is needed", () => {
    const means = { ...PLENTY, files: { ...FEW, left: 100 } };
    expect(lackOf([ONE], means, { logs: 16, connections: 82 })).toBeNull();
    expect(lackOf([ONE], means, { logs: 17, connections: 82 })).toBe(
      "expected a limit of at least 121 open files (RLIMIT_NOFILE, ulimit -n), got 120: 20 are " +
        "open, and the parts need logs 17, connections 82, 1 worker and models 2",
    );
  });

  test("with more threads than cores are warned about", () => {
    const wanted = { ...ONE, count: 9 };
    expect(sharedCores(wanted, PLENTY)).toContain("9 workers of 1 thread share 8 cores");
    expect(sharedCores({ ...wanted, count: 8 }, PLENTY)).toBeNull();
  });
});

describe("a few at a time", () => {
  test("never begins more, and begins all", async () => {
    let [running, most, begun] = [0, 0, 0];
    await aFewAtATime(20, 3, async () => {
      most = Math.max(most, ++running);
      begun++;
      await new Promise(setImmediate);
      running--;
    });
    expect([most, begun]).toEqual([3, 20]);
  });

  test("begins no more once one has failed", async () => {
    let begun = 0;
    const all = aFewAtATime(20, 2, async () => {
      begun++;
      await new Promise(setImmediate);
      throw new Error("no");
    });
    await expect(all).rejects.toThrow("no");
    expect(begun).toBe(2);
  });
});
