/** Every registered method on the command line that ships. */
import { commandLineContract } from "./command-line.ts";
import { SUBJECTS } from "./subjects.ts";

const COMMANDS = { cli: "dist/compiler/cli.js", runtimeCli: "dist/runtime/cli.js" };

for (const { method, compiled } of SUBJECTS) commandLineContract(method, compiled, () => COMMANDS);
