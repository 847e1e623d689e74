/** onnxruntime with its telemetry turned off; the runtime imports it from here only. */
import "./no-telemetry.ts";

export { env, InferenceSession, Tensor } from "onnxruntime-node";
