/** Models that do not fit each other are refused before one of them is measured. */
import { expect, test } from "vitest";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, UNPROFILED } from "./fake-machine.ts";

test.each([true, false])(
  "variants that take other inputs are refused, dry run %s",
  async (dryRun) => {
    const machine = fakeMachine(() => ({ wallMs: 1, cpuMs: 1 }), {
      feedsOf: async () => "every edge",
      readModel: async (file) => {
        const tensor = { name: "x", dtype: "float32", shape: [-1, file.includes("small") ? 2 : 3] };
        return { model: { file, sha256: "0".repeat(64), inputs: [tensor], outputs: [tensor] } };
      },
    });
    const folder = folderOf({
      "app.yaml": UNPROFILED,
      "small.onnx": "small",
      "large.onnx": "large",
    });
    const command = { ...commandFor(folder), dryRun };
    await expect(profileCommand(command, machine)).rejects.toThrow(
      /expected the inputs of "s", x float32\[-1, 2\]; .*large\.onnx has x float32\[-1, 3\]/,
    );
  },
);
