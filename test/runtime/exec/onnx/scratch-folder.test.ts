import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PlacesProfile } from "../../../../runtime/exec/onnx/node-places.ts";
import {
  leaveScratch,
  makeScratch,
  removeScratch,
  scratchPaths,
} from "../../../../runtime/exec/onnx/scratch-folder.ts";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "stratagem-test-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test("a worker makes the first folder that it can, for its user alone", () => {
  const own = folder();
  const paths = [join(own, "absent", "scratch"), join(own, "scratch")];
  expect(makeScratch(paths)).toBe(paths[1]);
  expect(statSync(join(own, "scratch")).mode & 0o777).toBe(0o700);
  expect(makeScratch(paths)).toBe(paths[1]);
  expect(makeScratch([join(own, "absent", "scratch")])).toBeNull();
});

test("two workers have other names", () => {
  expect(scratchPaths()).not.toEqual(scratchPaths());
});

test("what a killed worker leaves is removed", () => {
  const scratch = join(folder(), "scratch");
  expect(PlacesProfile.begin([scratch])).not.toBeNull();
  expect(existsSync(scratch)).toBe(true);
  removeScratch([scratch]);
  expect(existsSync(scratch)).toBe(false);
});

test("nothing stays of profiles that were read, nor goes while another is written", () => {
  const scratch = join(folder(), "scratch");
  const [first, second] = [PlacesProfile.begin([scratch]), PlacesProfile.begin([scratch])];
  first?.remove();
  expect(existsSync(scratch)).toBe(true);
  second?.remove();
  expect(existsSync(scratch)).toBe(false);
  leaveScratch(scratch);
});

test("a link of the name is neither written to nor followed", () => {
  const own = folder();
  writeFileSync(join(own, "kept"), "");
  const link = join(folder(), "scratch");
  symlinkSync(own, link);
  expect(makeScratch([link])).toBeNull();
  removeScratch([link]);
  expect(existsSync(join(own, "kept"))).toBe(true);
});
