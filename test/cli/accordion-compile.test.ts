/** `compile` of malleable pipelines, models cut or not, as its users run it. */
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { accordionApplication } from "../support/accordion-application.ts";
import { stratagemHere } from "../support/cli-here.ts";

describe("malleable pipelines on the command line", () => {
  const app = accordionApplication();
  const home = join(app, "out");
  const out = join(home, "places.msgpack");

  test("are compiled: cuts and loads are told, stages written beside the bundle", async () => {
    const { status, stdout, stderr } = await stratagemHere(
      "compile",
      join(app, "app.yaml"),
      "-o",
      out,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/\n7 stage files beside it\n/);
    expect(stdout).toMatch(/\nmodel +places +layers +stage ms +ms of 1 instance +speed-up\n/);
    expect(stdout).toMatch(/\nsmall +1 +10 +0\.5 +0\.5 +1\.00\n/);
    expect(stdout).toMatch(/\ndeep +2 +3 \| 3 +14 \| 18 +32 +1\.72\n/);
    expect(stdout).toMatch(/\nsped +4 +- +- +20 +2\.00\n/);
    expect(stdout).toMatch(/\n +10 .* yes\n +40 .* yes\n/);
    const stages = readdirSync(home).filter((name) =>
      /^small\.\d+-\d+\.[\da-f]{12}\.onnx$/.test(name),
    );
    expect(stages).toHaveLength(7);
    expect(readdirSync(home)).toHaveLength(8);
  });

  test("are compiled to the same bytes again; stages that differ or lack are told", async () => {
    const before = readFileSync(out);
    const named = (range: string) =>
      readdirSync(home).find((name) => name.startsWith(`small.${range}.`)) ?? "none";
    const [whole, half] = [named("0-10"), named("0-6")];
    appendFileSync(join(home, whole), "x");
    rmSync(join(home, half));
    const args = ["compile", join(app, "app.yaml"), "-o", out, "--check", "--json"];
    const { status, stdout } = await stratagemHere(...args);
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      same: false,
      exists: true,
      differingStages: [half, whole],
    });
    expect(Buffer.compare(readFileSync(out), before)).toBe(0);
  });

  test.each([
    [65, [], /^INPUT_CONFLICT .*: the model has 10 layers, and profile\.json#deep has times of 6/],
    [64, ["--solver", "glpk"], /^RUNTIME_USAGE --solver: method accordion has one solver/],
  ])("are refused with one line and exit code %d", async (code, options, message) => {
    const wrong = accordionApplication(["profile.json#mlp", "profile.json#deep"]);
    const spec = join(wrong, "app.yaml");
    const { status, stderr } = await stratagemHere(
      "compile",
      spec,
      "-o",
      join(wrong, "o/b"),
      ...options,
    );
    expect(stderr).toMatch(message);
    expect(status).toBe(code);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(existsSync(join(wrong, "o"))).toBe(false);
  });
});
