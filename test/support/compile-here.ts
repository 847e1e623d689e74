/** `compile` in this process, for applications that are refused before anything takes a process. */

import { compileCommand } from "../../compiler/commands/compile/compile.ts";
import { explainCompilerError } from "../../compiler/commands/errors.ts";
import {
  type HostSource,
  readHost as readHostHere,
} from "../../runtime/exec/modules/host-source.ts";
import { describeModel } from "../../runtime/exec/onnx/model-file.ts";
import { probeModelFile, probeTensors } from "../../runtime/exec/tensors/probe-tensors.ts";
import type { CliRun } from "./run-cli.ts";

/** What the command line says and ends with. @param out where the bundle would be written. */
export async function refusedHere(app: string, out: string): Promise<CliRun> {
  const pool = { jobs: 1, onProgress: () => {}, signal: new AbortController().signal };
  const readHost = (source: HostSource) => readHostHere(source, 1000);
  const modelReader = {
    describe: describeModel,
    readHost,
    probe: probeTensors,
    probeFile: probeModelFile,
  };
  const asked = { app, out, solver: null, fanouts: null, check: false };
  try {
    const { exitCode, text } = await compileCommand({
      ...asked,
      compiler: "test",
      pool,
      modelReader,
      nowMs: () => 0,
    });
    return { status: exitCode, stdout: text, stderr: "" };
  } catch (error) {
    const explained = explainCompilerError(error);
    if (explained === null) throw error;
    const { code, message, exitCode } = explained;
    return { status: exitCode, stdout: "", stderr: `${code} ${message}\n` };
  }
}
