/** Runs the smallest model once on WebGPU; a process of its own, since a driver may end it. */
import { bareSession, rowsOf } from "./bare-session.ts";

const MODEL = "models/scenes/detector-s.onnx";

try {
  const session = await bareSession(MODEL, "webgpu");
  await session.run(rowsOf(session, 1));
} catch (error) {
  console.error(error instanceof Error ? error.message.replaceAll("\n", " ") : error);
  process.exit(1);
}
process.exit(0);
