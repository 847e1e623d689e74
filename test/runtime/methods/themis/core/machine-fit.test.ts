import { describe, expect, it } from "vitest";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { MachineFit } from "../../../../../runtime/methods/themis/core/machine-fit.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";

function machinesOf(workers: number, cores: number | null): MachineFit {
  return new MachineFit(themisBundle({ workers, cores }));
}

function fits(machines: MachineFit, sizes: readonly number[]): boolean {
  machines.clear();
  for (const cores of sizes) machines.add(1, cores);
  return machines.fits();
}

/** Every way to put one instance after the other into a machine. */
function canBePlaced(sizes: readonly number[], free: readonly number[]): boolean {
  const [cores, ...others] = sizes;
  if (cores === undefined) return true;
  return free.some((left, at) => {
    if (left < cores) return false;
    const rest = free.map((one, index) => (index === at ? one - cores : one));
    return canBePlaced(others, rest);
  });
}

describe("instances", () => {
  it("fit where there is a machine for each, though there are cores enough", () => {
    // Nine cores, and no room for four instances of two.
    expect(fits(machinesOf(3, 3), [2, 2, 2])).toBe(true);
    expect(fits(machinesOf(3, 3), [2, 2, 2, 2])).toBe(false);
    expect(fits(machinesOf(3, 3), [4])).toBe(false);
  });

  it("fit also where the largest first does not find it", () => {
    expect(fits(machinesOf(2, 10), [4, 4, 3, 3, 3, 3])).toBe(true);
  });

  it("are held to cores alone where machines do not say theirs", () => {
    expect(fits(machinesOf(9, null), [2, 2, 2, 2])).toBe(true);
    expect(fits(machinesOf(9, null), [2, 2, 2, 2, 2])).toBe(false);
  });

  it("fit where some way to place them is found by trying all", () => {
    const rng = new Rng(3, 1);
    const below = (limit: number): number => Math.floor(limit * rng.nextFloat());
    let fitting = 0;
    let others = 0;
    for (let round = 0; round < 3000; round++) {
      const [machines, cores] = [1 + below(4), 1 + below(10)];
      const sizes = Array.from({ length: 1 + below(9) }, () => 1 + below(cores));
      const expected = canBePlaced(sizes, Array<number>(machines).fill(cores));
      expect(fits(machinesOf(machines, cores), sizes), `${machines} of ${cores}: ${sizes}`).toBe(
        expected,
      );
      if (expected) fitting++;
      else if (sizes.reduce((sum, one) => sum + one, 0) <= machines * cores) others++;
    }
    expect(fitting).toBeGreaterThan(300);
    expect(others).toBeGreaterThan(20);
  });
});
