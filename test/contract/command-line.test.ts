/**
 * Every registered method on the command line: what starts processes of its own as it ships, the
 * rest in this process. The toy has it all from its own command line.
 */
import { commandLineContract } from "./command-line.ts";
import { runHere } from "./in-process.ts";
import { SUBJECTS } from "./subjects.ts";

const COMMANDS = { cli: "compiler/dist/cli.js", runtimeCli: "runtime/dist/cli.js", runHere };

for (const { method, compiled } of SUBJECTS) commandLineContract(method, compiled, () => COMMANDS);
