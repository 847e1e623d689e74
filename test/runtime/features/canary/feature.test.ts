/** Settings of canaries. */
import { describe, expect, test } from "vitest";
import { RuntimeError } from "../../../../runtime/base/errors.ts";
import { serveCommand, servedSettings } from "../../../../runtime/commands/serve.ts";
import { askedCanary } from "../../../../runtime/features/canary/feature.ts";

describe("settings of canaries", () => {
  test.each([
    ["new.msgpack=5%", { policy: "new.msgpack", shares: [0.05] }],
    ["a=b/new=0.5%,25%,50%", { policy: "a=b/new", shares: [0.005, 0.25, 0.5] }],
    ["new=0.1", { policy: "new", shares: [0.1] }],
  ])("%s is a path and its shares", (text, asked) => {
    expect(askedCanary(text)).toEqual(asked);
  });

  test.each([
    "new.msgpack",
    "=5%",
    "new=",
    "new=0%",
    "new=51%",
    "new=25%,5%",
    "new=5%,5%",
    "new=5%,",
    "new=5%,x",
    "new=5%,1e1",
  ])("%s is none", async (text) => {
    expect(askedCanary(text)).toBeUndefined();
    await expect(servedSettings({ canary: [text] }, {}, undefined)).rejects.toThrow(
      /^--canary: expected a bundle and shares of the requests, such as new.msgpack=5% or /,
    );
  });

  test("several canaries are separated by semicolons, because commas separate shares", async () => {
    const { values } = await servedSettings({}, { STRATAGEM_CANARY: "a=5%,25%;b=10%" }, undefined);
    expect(values).toMatchObject({
      ...{ canary: ["a=5%,25%", "b=10%"], canaryTime: 600_000, canaryTolerance: 0.005 },
    });
  });

  test("a gate without the compiler's package is rejected with its name", async () => {
    const flags = { policy: ["a"], canary: ["b=5%"], limit: ["canaryGate=none"] };
    const settings = await servedSettings(flags, {}, undefined);
    const around = { onReady: () => {}, environment: {}, onReload: () => {} };
    const { signal } = new AbortController();
    const refused = serveCommand(settings, {}, { ...around, signal });
    await expect(refused).rejects.toThrow(RuntimeError);
    await expect(refused).rejects.toThrow(/^--limit canaryGate: only stratagem serve has the gate/);
  });
});
